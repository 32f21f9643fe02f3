package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsqio/nsq/nsqd"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
)

// Case 89: nsqd's disk is full. What relayer submit said is stored is in Postgres, whatever nsqd answered and lost, and settles.
func TestNSQDsDiskIsFull(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true})
	full := nsqtest.StartOnFullDisk(t, func(o *nsqd.Options) { o.MemQueueSize = 2 })
	full.CreateChannel("intents.webhooks", "relayer")
	ins := ofRoute("webhooks", "full", 20)
	var lines strings.Builder
	for _, in := range ins {
		body, err := intents.Encode(in)
		w.must(err)
		fmt.Fprintln(&lines, string(body))
	}
	args := []string{"--nsqd-tcp-address", full.TCP(), "--set", "nsq.nsqd-http-address=" + full.HTTP()}
	submit := w.start(slices.Concat([]string{"submit", "--route", "webhooks", "-f", w.file(lines.String())}, args)...)
	submit.exits(exitOK)
	if submit.said("submitted 20 ") != 1 || w.states()[intents.Authorized] != len(ins) {
		t.Errorf("%d are stored, and it says %q", w.states()[intents.Authorized], submit.stderr)
	}
	if s := full.Stats("intents.webhooks", "relayer"); s.Depth >= int64(len(ins)) {
		t.Fatalf("nsqd has all %d: its disk is not full", s.Depth)
	}
	p := w.start(shortTerms(args...)...)
	w.settles(ins)
	p.drains()
	w.once(ins)
}

// file makes a file.
func (w *world) file(text string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "in.ndjson")
	w.must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

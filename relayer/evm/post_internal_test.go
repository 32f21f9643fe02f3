package evm

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// TestDeal, case 81 for batches: each send has the answer with its own id, whatever order they come in. What was not
// answered, or twice, is unknown; what is no list of answers is said to all.
func TestDeal(t *testing.T) {
	const (
		a, b  = `{"jsonrpc":"2.0","id":7,"result":"0xaa"}`, `{"jsonrpc":"2.0","id":8,"result":"0xbb"}`
		known = `{"jsonrpc":"2.0","id":8,"error":{"code":-32000,"message":"already known"}}`
		busy  = `{"jsonrpc":"2.0","id":8,"error":{"code":429,"message":"slow down"}}`
	)
	yes, no, maybe := intents.Accepted, intents.NotSent, intents.Unknown
	for name, tt := range map[string]struct {
		status int
		body   string
		want   [2]intents.Verdict
		alone  bool
	}{
		"both":                    {200, "[" + a + "," + b + "]", [2]intents.Verdict{yes, yes}, false},
		"in another order":        {200, "[" + b + "," + a + "]", [2]intents.Verdict{yes, yes}, false},
		"one is known":            {200, "[" + a + "," + known + "]", [2]intents.Verdict{yes, yes}, false},
		"one is one too many":     {200, "[" + a + "," + busy + "]", [2]intents.Verdict{yes, no}, false},
		"one is missing":          {200, "[" + a + "]", [2]intents.Verdict{yes, maybe}, false},
		"one is null":             {200, "[" + a + ",null]", [2]intents.Verdict{yes, maybe}, false},
		"one twice":               {200, "[" + a + "," + b + "," + b + "]", [2]intents.Verdict{yes, maybe}, false},
		"of another call":         {200, "[" + a + "," + strings.Replace(b, ":8", ":9", 1) + "]", [2]intents.Verdict{yes, maybe}, false},
		"another hash":            {200, "[" + a + "," + strings.Replace(b, "0xbb", "0xcc", 1) + "]", [2]intents.Verdict{yes, maybe}, false},
		"each other's hash":       {200, "[" + strings.Replace(a, "0xaa", "0xbb", 1) + "," + strings.Replace(b, "0xbb", "0xaa", 1) + "]", [2]intents.Verdict{maybe, maybe}, false},
		"none":                    {200, "[]", [2]intents.Verdict{maybe, maybe}, false},
		"cut":                     {200, "[" + a + "," + b[:9], [2]intents.Verdict{maybe, maybe}, false},
		"no JSON":                 {200, "invalid host specified", [2]intents.Verdict{maybe, maybe}, false},
		"one object":              {200, a, [2]intents.Verdict{yes, maybe}, false},
		"no batches":              {200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch requests are not supported"}}`, [2]intents.Verdict{maybe, maybe}, true},
		"too many calls":          {200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"rate limit exceeded"}}`, [2]intents.Verdict{no, no}, false},
		"too many calls, by HTTP": {429, `{}`, [2]intents.Verdict{no, no}, false},
		"refused by the edge":     {403, `{}`, [2]intents.Verdict{no, no}, false},
		"a gateway's page":        {502, `<html>`, [2]intents.Verdict{maybe, maybe}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, n := &Sender{log: slog.New(slog.DiscardHandler), scrub: newScrubber()}, &node{}
			ms := []*sending{{id: 7}, {id: 8}}
			s.deal(t.Context(), n, answer{status: tt.status, body: []byte(tt.body), whole: true, wrote: true}, ms)
			for i, hash := range []string{"0xaa", "0xbb"} {
				if r := ms[i].ans.judge(hash); r.verdict != tt.want[i] {
					t.Errorf("%s: %v, want %v: %s", hash, r.verdict, tt.want[i], ms[i].ans.body)
				}
			}
			if n.alone.Load() != tt.alone {
				t.Errorf("gets sends one by one: %t, want %t", n.alone.Load(), tt.alone)
			}
		})
	}
}

// TestPostLeaves: who leaves while its bytes wait for a call has sent nothing; once they are in one they may have left.
func TestPostLeaves(t *testing.T) {
	n, let := &node{}, make(chan struct{})
	in := make(chan int, 2)
	n.sends = gather[*sending]{most: 0, size: 9, lanes: 1, ask: func(_ context.Context, ms []*sending) { in <- len(ms); <-let }}
	n.sends.most = 1 << 40
	s := &Sender{cfg: Config{SendBatch: 9}}
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan string, 2)
	post := func(name string) {
		ans := s.post(ctx, n, nil)
		got <- fmt.Sprintf("%s: wrote %t, %v", name, ans.wrote, ans.judge("0x").verdict)
	}
	go post("first")
	<-in
	cancel()
	if text := <-got; text != "first: wrote true, unknown" {
		t.Error(text)
	}
	ctx, cancel = context.WithCancel(t.Context()) // the first call goes on
	n.sends.lanes = 0
	go post("second")
	for waiting := 0; waiting == 0; runtime.Gosched() {
		n.sends.mu.Lock()
		waiting = len(n.sends.waiting)
		n.sends.mu.Unlock()
	}
	cancel()
	if text := <-got; text != "second: wrote false, not_sent" {
		t.Error(text)
	}
	close(let)
}

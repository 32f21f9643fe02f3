package evm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

// limitError is what Infura answers, with HTTP 429 or 200.
const limitError = `{"code":-32005,"message":"project ID request rate exceeded","data":{"rate":{"allowed_rps":1,"backoff_seconds":%s,"current_rps":1.1}}}`

// TestBackoffOfSends, case 58: what a send's answer asks for in its data is done, within bounds; a header goes first.
func TestBackoffOfSends(t *testing.T) {
	for _, tt := range []struct {
		status  int
		header  time.Duration
		seconds string
		want    time.Duration
	}{
		{429, 0, "30", 30 * time.Second}, {200, 0, "0.5", 500 * time.Millisecond}, {429, 7 * time.Second, "30", 7 * time.Second},
		{200, 0, "86400", intents.MostRetry}, {200, 0, "1e300", intents.MostRetry},
		{200, 0, "-5", 0}, {429, 0, "0", 0}, {429, 0, `"soon"`, 0}, {429, 0, "null", 0},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"error":`+limitError+`}`, tt.seconds)
		r := answer{id: 3, status: tt.status, retryAfter: tt.header, body: []byte(body), whole: true}.judge("0x1")
		if r.verdict != intents.NotSent || !r.busy || r.asked != tt.want {
			t.Errorf("%d, %s: %v, busy %t, asked for %v; want %v", tt.status, tt.seconds, r.verdict, r.busy, r.asked, tt.want)
		}
	}
}

// TestBackoffOfReads: the same of a read, in an element of a list or instead of the list.
func TestBackoffOfReads(t *testing.T) {
	for name, form := range map[string]string{
		"an element": `[{"jsonrpc":"2.0","id":1,"error":` + limitError + `}]`,
		"no list":    `{"jsonrpc":"2.0","id":1,"error":` + limitError + `}`,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, fmt.Sprintf(form, "40"))
		}))
		client, err := rpc.DialOptions(t.Context(), srv.URL, rpc.WithHTTPClient(newHTTP(reading{http.DefaultTransport})))
		if err != nil {
			t.Fatal(err)
		}
		n := &node{rpc: client}
		s := &Sender{cfg: Config{}.withDefaults(), pool: newPool([]*node{n})}
		s.log, s.scrub = s.cfg.Logger, newScrubber()
		_ = s.callAt(context.Background(), n, []rpc.BatchElem{{Method: "eth_blockNumber", Result: new(string)}})
		if left := time.Until(n.until); left < 39*time.Second || left > 40*time.Second {
			t.Errorf("%s: left alone for %v, want 40 s", name, left)
		}
		client.Close()
		srv.Close()
	}
}

package nsq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// retry calls until it works or ctx ends, which it does within 30 s.
func retry(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nsq: wait for daemons: %w, last: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

func ping(ctx context.Context, client *http.Client, addr string) error {
	body, err := get(ctx, client, "http://"+addr+"/ping")
	if err == nil && !bytes.Equal(body, []byte("OK")) {
		err = fmt.Errorf("ping of %s answers %q", addr, body)
	}
	return err
}

func (n *NSQ) lookupdUp(ctx context.Context, client *http.Client) error {
	return ping(ctx, client, n.LookupdHTTP)
}

func (n *NSQ) adminUp(ctx context.Context, client *http.Client) error {
	return ping(ctx, client, n.AdminHTTP)
}

// nsqdUp waits for more than an answer: nsqlookupd must list nsqd, or a consumer that asks early would not find it
// and wait for its next poll. The loop that registers is also the last one nsqd starts.
func (n *NSQ) nsqdUp(ctx context.Context, client *http.Client) error {
	if err := ping(ctx, client, n.NSQDHTTP); err != nil {
		return err
	}
	body, err := get(ctx, client, "http://"+n.LookupdHTTP+"/nodes")
	if err != nil {
		return err
	}
	var nodes struct {
		Producers []struct{}
	}
	if err := json.Unmarshal(body, &nodes); err != nil {
		return err
	}
	if len(nodes.Producers) > 0 { // this nsqlookupd is new: it can be no other
		return nil
	}
	return fmt.Errorf("nsqd is not registered at nsqlookupd: %s", body)
}

func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return body, err
}

// logger passes a daemon's lines on.
type logger struct {
	log    *slog.Logger
	daemon string
}

// Output is what NSQ's daemons call.
func (l logger) Output(_ int, line string) error {
	l.log.DebugContext(context.Background(), "nsq daemon says", "daemon", l.daemon, "line", line)
	return nil
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nsqrelayer/relayer/internal/devstack/nsq"
)

// nsqdMode is the first argument of this program when it is to be an nsqd that can be killed with its memory. TCP address,
// HTTP address and data path follow.
const nsqdMode = "nsqd"

// serveNSQD is an nsqd until SIGTERM, when what it holds goes to its data path.
func serveNSQD(tcp, http, dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n, err := nsq.Start(ctx, nsq.Config{NSQDTCPAddress: tcp, NSQDHTTPAddress: http, DataPath: dir, StopTimeout: time.Minute, Logger: log})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return n.Stop()
}

// queue is the nsqd, in a process of its own.
type queue struct {
	program   program
	tcp, http string
	child     *child
}

// newQueue makes an nsqd on two addresses. It keeps its messages in dir.
func newQueue(tcp, http, dir, log string) (*queue, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &queue{program: program{[]string{self, nsqdMode, tcp, http, dir}, log}, tcp: tcp, http: http}, nil
}

// start runs it and returns when it answers; again when it ends during its start, since its ports may be in use for a
// moment longer than the last one lived.
func (q *queue) start(ctx context.Context) (err error) {
	for ctx.Err() == nil {
		if q.child, err = q.program.start(); err != nil {
			return err
		}
		if q.up(ctx) {
			return nil
		}
		q.child.kill()
		pause(ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("nsqd does not come up: %w, see %s", ctx.Err(), q.program.log)
}

// up waits for an answer.
func (q *queue) up(ctx context.Context) bool {
	for ctx.Err() == nil && !q.child.ends(20*time.Millisecond) {
		if q.ping(ctx) == nil {
			return true
		}
	}
	return false
}

func (q *queue) ping(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+q.http+"/ping", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// hurt ends it, with or without its memory, and starts it again on the same addresses and data.
func (q *queue) hurt(ctx context.Context, k kind) error {
	if k == kill {
		q.child.kill()
	} else {
		q.child.stop(time.Minute)
	}
	<-ctx.Done()
	return back(ctx, q.start)
}

// close ends it for good.
func (q *queue) close() error {
	if q.child != nil {
		q.child.kill()
	}
	return nil
}

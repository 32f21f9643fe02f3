package nsq

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	gonsq "github.com/nsqio/go-nsq"
	"github.com/nsqio/nsq/nsqd"
	"go.uber.org/goleak"
)

// TestMain leaves out idle HTTP connections: nsqadmin and go-nsq keep theirs, and nsqd and nsqlookupd close the
// listener only.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"))
}

func start(t *testing.T, cfg Config) *NSQ {
	t.Helper()
	n, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// fetch gets a page on a connection of its own.
func fetch(t *testing.T, url string) string {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	body, err := get(t.Context(), client, url)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func publish(t *testing.T, n *NSQ, topic, body string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post("http://"+n.NSQDHTTP+"/pub?topic="+topic, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("publish: %s", resp.Status)
	}
}

// consume returns the first body of the topic, found through nsqlookupd.
func consume(t *testing.T, n *NSQ, topic string) string {
	cfg := gonsq.NewConfig()
	cfg.LookupdPollInterval = 50 * time.Millisecond
	cfg.LookupdPollJitter = 0
	c, err := gonsq.NewConsumer(topic, "relayer", cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.SetLogger(nil, gonsq.LogLevelError)
	got := make(chan string, 1)
	c.AddHandler(gonsq.HandlerFunc(func(m *gonsq.Message) error {
		select {
		case got <- string(m.Body):
		default:
		}
		return nil
	}))
	if err := c.ConnectToNSQLookupd(n.LookupdHTTP); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Stop(); <-c.StopChan }()
	select {
	case body := <-got:
		return body
	case <-time.After(time.Minute):
		t.Fatal("no message")
		return ""
	}
}

func TestMessagePassesThroughLookupd(t *testing.T) {
	n := start(t, Config{})
	publish(t, n, "payouts", "hello")
	if got := consume(t, n, "payouts"); got != "hello" {
		t.Errorf("consumed %q", got)
	}
}

func TestAdminShowsTheTopic(t *testing.T) {
	n := start(t, Config{})
	publish(t, n, "payouts", "hello")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	err := retry(t.Context(), func(ctx context.Context) error { // until nsqd has told nsqlookupd of the topic
		body, err := get(ctx, client, "http://"+n.AdminHTTP+"/api/topics/payouts")
		if err == nil && !strings.Contains(string(body), `"depth":1`) {
			err = fmt.Errorf("nsqadmin says %s", body)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDataPathKeepsMessages(t *testing.T) {
	dir := t.TempDir()
	first := start(t, Config{DataPath: dir})
	publish(t, first, "payouts", "kept")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, Config{DataPath: dir})
	if got := consume(t, second, "payouts"); got != "kept" {
		t.Errorf("consumed %q", got)
	}
}

func TestOptions(t *testing.T) {
	n := start(t, Config{Options: func(o *nsqd.Options) { o.MaxMsgTimeout = 7 * time.Minute }})
	got := fetch(t, "http://"+n.NSQDHTTP+"/config/max_msg_timeout")
	if want := fmt.Sprint(int64(7 * time.Minute)); got != want {
		t.Errorf("max_msg_timeout is %s, want %s", got, want)
	}
}

func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	for name, cfg := range map[string]Config{
		"nsqlookupd": {LookupdTCPAddress: taken},
		"nsqd":       {NSQDHTTPAddress: taken},
		"nsqadmin":   {AdminHTTPAddress: taken},
	} {
		_, err := Start(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), taken) {
			t.Errorf("start of %s on a taken port: %v", name, err)
		}
	}
}

func TestStopTwice(t *testing.T) {
	n := start(t, Config{})
	for range 2 {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	}
	if c, err := net.Dial("tcp", n.NSQDTCP); err == nil {
		c.Close()
		t.Error("nsqd still listens")
	}
}

// lines collects log lines written by several daemons.
type lines struct {
	sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func TestLinesGoToTheLoggerAtDebug(t *testing.T) {
	var out lines
	n := start(t, Config{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"level=DEBUG", "daemon=nsqd ", "daemon=nsqlookupd ", "daemon=nsqadmin "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log has no %q", want)
		}
	}
	if strings.Contains(out.String(), "level=INFO") {
		t.Error("the log has lines above debug")
	}
}

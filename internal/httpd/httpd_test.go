package httpd_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nsqrelayer/relayer/internal/httpd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serving is a server that runs.
type serving struct {
	*httpd.Server
	stop func()
	done chan error
}

func serve(t *testing.T, grace time.Duration, h http.HandlerFunc) *serving {
	t.Helper()
	s, err := httpd.Listen(t.Context(), httpd.Config{Addr: "127.0.0.1:0", Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &serving{Server: s, stop: stop, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx, h) }()
	t.Cleanup(stop)
	return r
}

// get asks on a connection of its own.
func get(addr string) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + addr)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.Status + " " + string(body), err
}

type answer struct {
	text string
	err  error
}

// ask asks beside the test.
func ask(addr string) chan answer {
	c := make(chan answer, 1)
	go func() {
		text, err := get(addr)
		c <- answer{text, err}
	}()
	return c
}

func TestLive(t *testing.T) {
	s := serve(t, time.Minute, httpd.Live)
	if got, err := get(s.Addr()); err != nil || got != "200 OK ok\n" {
		t.Errorf("got %q, %v", got, err)
	}
	s.stop()
	if err := <-s.done; err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// A taken address is told by its kind, not only in words; closed, it can be had again.
func TestAddressIsTaken(t *testing.T) {
	s, err := httpd.Listen(t.Context(), httpd.Config{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = httpd.Listen(t.Context(), httpd.Config{Addr: s.Addr()})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v, want EADDRINUSE", err)
	}
	s.Close()
	again, err := httpd.Listen(t.Context(), httpd.Config{Addr: s.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// An answer that was begun is finished after the end; nobody else is let in.
func TestBegunAnswersAreFinished(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slow" {
			return
		}
		close(begun)
		<-finish
		_, _ = io.WriteString(w, "whole")
	})
	got := ask(s.Addr() + "/slow")
	<-begun
	s.stop()
	for { // the listener is closed a moment after the end
		if _, err := get(s.Addr()); errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
	}
	select {
	case err := <-s.done:
		t.Errorf("ended (%v) before its answer", err)
	default:
	}
	close(finish)
	if a := <-got; a.err != nil || a.text != "200 OK whole" {
		t.Errorf("got %q, %v", a.text, a.err)
	}
	if err := <-s.done; err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// What outlasts the grace is cut: the end waits for nobody, and who was asked learns of it.
func TestEndWaitsForNobody(t *testing.T) {
	begun, told := make(chan struct{}), make(chan struct{})
	s := serve(t, time.Millisecond, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(told)
	})
	got := ask(s.Addr())
	<-begun
	s.stop()
	if err := <-s.done; err != nil {
		t.Errorf("stopped: %v", err)
	}
	<-told
	if a := <-got; a.err == nil {
		t.Errorf("got %q, want a cut connection", a.text)
	}
}

// A server that ends although nobody stopped it says why.
func TestServerThatFailsSaysSo(t *testing.T) {
	s := serve(t, time.Minute, httpd.Live)
	if _, err := get(s.Addr()); err != nil { // it runs
		t.Fatal(err)
	}
	s.Close()
	if err := <-s.done; err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
}

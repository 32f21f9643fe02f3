package relayer

import (
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type valueKey struct{}

// A bounded context ends as one of package context does, whoever waits for it: itself, a child, a function.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, end := context.WithCancelCause(context.WithValue(t.Context(), valueKey{}, "v"))
		defer end(nil)
		late := errors.New("too late")
		for name, tc := range map[string]struct {
			do    func(cancel func())
			err   error
			cause error
		}{
			"time":   {func(func()) { time.Sleep(time.Second) }, context.DeadlineExceeded, context.DeadlineExceeded},
			"cancel": {func(cancel func()) { cancel() }, context.Canceled, context.Canceled},
			"still":  {func(func()) { time.Sleep(time.Second - 1) }, nil, nil},
		} {
			endsAs(t, name, parent, tc.do, tc.err, tc.cause)
		}
		endsAs(t, "parent", parent, func(func()) { end(late) }, context.Canceled, late)
	})
}

// endsAs looks at a bounded context before and after something, waited for and not.
func endsAs(t *testing.T, name string, parent context.Context, do func(cancel func()), want, cause error) {
	t.Helper()
	idle, cancelIdle := within(parent, time.Second)
	busy, cancelBusy := within(parent, time.Second)
	child, cancelChild := context.WithTimeout(busy, time.Hour)
	defer cancelChild()
	told := make(chan struct{})
	stop := context.AfterFunc(busy, func() { close(told) })
	defer stop()
	if idle.Err() != nil || busy.Err() != nil || idle.Value(valueKey{}) != "v" || busy.Value(valueKey{}) != "v" {
		t.Errorf("%s: over before it began, or without its values", name)
	}
	do(func() { cancelIdle(); cancelBusy() })
	synctest.Wait()
	for what, ctx := range map[string]context.Context{"idle": idle, "busy": busy, "child": child} {
		if got := ctx.Err(); got != want {
			t.Errorf("%s, %s: %v, want %v", name, what, got, want)
		}
		if got := context.Cause(ctx); got != cause {
			t.Errorf("%s, %s: cause %v, want %v", name, what, got, cause)
		}
		if over := closed(ctx.Done()); over != (want != nil) {
			t.Errorf("%s, %s: done %t", name, what, over)
		}
	}
	if got := closed(told); got != (want != nil) {
		t.Errorf("%s: told %t", name, got)
	}
	cancelIdle()
	cancelBusy()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A context made from one that is waited for hangs on its timer: it needs no goroutine that passes the end on.
func TestWithinNeedsNoGoroutine(t *testing.T) {
	passing := func() int {
		var all strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&all, 2); err != nil {
			t.Fatal(err)
		}
		return strings.Count(all.String(), "propagateCancel")
	}
	ctx, cancel := within(t.Context(), time.Hour)
	defer cancel()
	ctx.Done()
	before := passing()
	for range 100 {
		_, cancel := context.WithCancel(ctx)
		defer cancel()
	}
	if n := passing() - before; n > 50 { // other tests may have some
		t.Errorf("%d goroutines more pass an end on", n)
	}
}

// The sooner of two deadlines counts.
func TestWithinAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, cancel := within(t.Context(), time.Minute)
		defer cancel()
		inner, cancel := within(outer, time.Hour)
		defer cancel()
		if d, _ := inner.Deadline(); time.Until(d) != time.Minute {
			t.Errorf("ends in %s", time.Until(d))
		}
		time.Sleep(time.Minute)
		if inner.Err() != context.DeadlineExceeded || !closed(inner.Done()) {
			t.Errorf("got %v", inner.Err())
		}
	})
}

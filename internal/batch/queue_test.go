package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nsqrelayer/relayer/internal/batch"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestIdleQueueAddsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		q := start(t, s, whole, batch.Config{})
		for _, op := range []string{"a", "b"} {
			begin := time.Now()
			got, err := q.Do(t.Context(), op)
			if got != op+" written" || err != nil {
				t.Errorf("Do(%s) = %q, %v", op, got, err)
			}
			equal(t, "waited", time.Since(begin), time.Duration(0))
		}
		equal(t, "commits", s.commits(), [][]string{{"a"}, {"b"}})
	})
}

func TestBatchIsWhatPiledUpInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: slow(nil)}
		q := start(t, s, whole, batch.Config{})
		got := wait(do(t, q, "a", "d", "c", "b")...)
		equal(t, "answers", got, []string{"a written", "d written", "c written", "b written"})
		equal(t, "commits", s.commits(), [][]string{{"a"}, {"d", "c", "b"}})
	})
}

func TestBatchLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  batch.Config
		want [][]string
	}{
		"rows":                        {batch.Config{MaxRows: 2}, [][]string{{"a"}, {"bb", "cc"}, {"dddddd", "ee"}, {"f"}}},
		"bytes to the last":           {batch.Config{MaxBytes: 10}, [][]string{{"a"}, {"bb", "cc", "dddddd"}, {"ee", "f"}}},
		"bytes, none overtakes":       {batch.Config{MaxBytes: 9}, [][]string{{"a"}, {"bb", "cc"}, {"dddddd", "ee", "f"}}},
		"bytes, the large goes alone": {batch.Config{MaxBytes: 4}, [][]string{{"a"}, {"bb", "cc"}, {"dddddd"}, {"ee", "f"}}},
		"none reached":                {batch.Config{}, [][]string{{"a"}, {"bb", "cc", "dddddd", "ee", "f"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{commit: slow(nil)}
				q := start(t, s, whole, tt.cfg)
				wait(do(t, q, "a", "bb", "cc", "dddddd", "ee", "f")...)
				equal(t, "commits", s.commits(), tt.want)
			})
		})
	}
}

func TestOneKeyRidesOnceABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: slow(nil)}
		q := start(t, s, letter, batch.Config{})
		wait(do(t, q, "x1", "a1", "a2", "b1", "a3", "b2", "c1")...)
		equal(t, "commits", s.commits(), [][]string{{"x1"}, {"a1", "b1", "c1"}, {"a2", "b2"}, {"a3"}})
	})
}

func TestCarriedOperationIsNotOvertakenForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: slow(nil)}
		q := start(t, s, letter, batch.Config{MaxRows: 2})
		first := do(t, q, "x1", "a1", "a2")
		rest := do(t, q, "b1", "c1", "d1", "e1", "f1")
		wait(slices.Concat(first, rest)...)
		equal(t, "commits", s.commits(), [][]string{{"x1"}, {"a1", "b1"}, {"a2", "c1"}, {"d1", "e1"}, {"f1"}})
	})
}

func TestWhoLeftBeforeTheSealIsNeverCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: slow(nil)}
		q := start(t, s, letter, batch.Config{})
		cs := do(t, q, "x1", "a1", "b1", "a2")
		cs[1].cancel()
		if !cs[1].answered() {
			t.Fatal("a caller whose operation was not sealed could not leave at once")
		}
		got := wait(cs...)
		equal(t, "answers", got, []string{"x1 written", "context canceled", "b1 written", "a2 written"})
		equal(t, "commits", s.commits(), [][]string{{"x1"}, {"b1", "a2"}})
	})
}

func TestQueueRestsWhenAllHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: slow(nil)}
		q := start(t, s, whole, batch.Config{})
		cs := do(t, q, "a", "b")
		cs[1].cancel()
		wait(cs...)
		synctest.Wait()
		equal(t, "answers", wait(do(t, q, "c")...), []string{"c written"})
		equal(t, "commits", s.commits(), [][]string{{"a"}, {"c"}})
	})
}

func TestCanceledCallerDoesNotEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		q := start(t, s, whole, batch.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := q.Do(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("Do = %v, want context.Canceled", err)
		}
		synctest.Wait()
		equal(t, "commits", len(s.commits()), 0)
	})
}

func TestSealedCallerGetsTheTruthThoughItsContextEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ctxErr error
		s := &script{}
		s.commit = slow(func(ctx context.Context, ops []string) ([]ans, error) {
			ctxErr = ctx.Err()
			return written(ops), nil
		})
		q := start(t, s, whole, batch.Config{})
		c := do(t, q, "a")[0]
		c.cancel()
		if c.answered() {
			t.Fatalf("Do returned %q, %v before its batch was committed", c.value, c.err)
		}
		equal(t, "answer", wait(c), []string{"a written"})
		if ctxErr != nil {
			t.Errorf("the batch ran on a context that a caller ended: %v", ctxErr)
		}
	})
}

func TestCloseCommitsTheSealedAndAnswersTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: slow(nil)}
		q := start(t, s, whole, batch.Config{})
		cs := do(t, q, "a", "b", "c", "d")
		cs[3].cancel()
		synctest.Wait()
		begin := time.Now()
		q.Close()
		equal(t, "Close took", time.Since(begin), time.Second)
		if cs = cs[:3]; !cs[0].answered() || !cs[1].answered() || !cs[2].answered() {
			t.Fatal("Close returned before all were answered")
		}
		equal(t, "answers", wait(cs...), []string{"a written", "batch: queue closed", "batch: queue closed"})
		if !errors.Is(cs[1].err, batch.ErrClosed) {
			t.Errorf("error is %v, want ErrClosed", cs[1].err)
		}
		equal(t, "commits", s.commits(), [][]string{{"a"}})
	})
}

func TestDoAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := start(t, &script{}, whole, batch.Config{})
		q.Close()
		if _, err := q.Do(t.Context(), "a"); !errors.Is(err, batch.ErrClosed) {
			t.Errorf("Do = %v, want ErrClosed", err)
		}
		q.Close()
	})
}

func TestCloseWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		q := batch.New(s, whole, nil, batch.Config{})
		c := do(t, q, "a")[0]
		q.Close()
		equal(t, "answer", wait(c), []string{"batch: queue closed"})
		q.Run() // returns at once
		equal(t, "commits", len(s.commits()), 0)
	})
}

func TestObserveHearsOfEachBatchOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type seen struct {
			Rows int
			Took time.Duration
		}
		var got []seen
		s := &script{commit: slow(refusesBad)}
		q := start(t, s, whole, batch.Config{Observe: func(rows int, took time.Duration) {
			got = append(got, seen{rows, took})
		}})
		wait(do(t, q, "a", "b", "c!")...) // the second batch: whole, then two halves
		q.Close()
		equal(t, "observed", got, []seen{{1, time.Second}, {2, 3 * time.Second}})
	})
}

package batch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/internal/batch"
)

var (
	errDeadlock = errors.New("deadlock detected")
	errDown     = errors.New("connection refused")
	errNotThere = errors.New("did not land")
)

// play sends "x" ahead, so that ops make one batch behind it, and returns the answers to ops. commit rules from that
// batch on.
func play(t *testing.T, s *script, cfg batch.Config, ops ...string) []*caller {
	t.Helper()
	s.commit = after(1, slow(nil), s.commit)
	q := start(t, s, whole, cfg)
	cs := do(t, q, append([]string{"x"}, ops...)...)
	wait(cs...)
	s.committed = s.committed[1:]
	return cs[1:]
}

func TestRepeatRunsTheSameBatchAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: after(2, fails(batch.Repeat(errDeadlock)), succeeds)}
		got := wait(play(t, s, batch.Config{}, "a", "b")...)
		equal(t, "answers", got, []string{"a written", "b written"})
		equal(t, "commits", s.committed, [][]string{{"a", "b"}, {"a", "b"}, {"a", "b"}})
	})
}

func TestRepeatsAreBounded(t *testing.T) {
	for name, tt := range map[string]struct{ repeats, commits int }{
		"default": {0, 6}, "two": {2, 3}, "never": {-1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{commit: fails(batch.Repeat(errDeadlock))}
				for _, c := range play(t, s, batch.Config{Repeats: tt.repeats}, "a", "b") {
					if c.err != errDeadlock {
						t.Errorf("error is %#v, want the unmarked one", c.err)
					}
				}
				equal(t, "commits", len(s.committed), tt.commits)
			})
		})
	}
}

func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		s := &script{commit: func(context.Context, []string) ([]ans, error) {
			at = append(at, time.Now())
			return nil, batch.Repeat(errDeadlock)
		}}
		play(t, s, batch.Config{Repeats: 4, Pause: 400 * time.Millisecond}, "a")
		for i, most := range []time.Duration{400, 800, 1000, 1000} {
			most *= time.Millisecond
			if got := at[i+1].Sub(at[i]); got < most/2 || got > most {
				t.Errorf("pause %d is %v, want between %v and %v", i, got, most/2, most)
			}
		}
	})
}

func TestCommitTimeoutEndsRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &script{commit: slow(fails(batch.Repeat(errDeadlock)))}
		c := play(t, s, batch.Config{CommitTimeout: 2500 * time.Millisecond, Repeats: 100, Pause: time.Millisecond}, "a")[0]
		if c.err != errDeadlock {
			t.Errorf("error is %v, want %v", c.err, errDeadlock)
		}
		if got := time.Since(begin); got > 4*time.Second+10*time.Millisecond { // one before it, three of its own
			t.Errorf("the batch ran %v past its timeout", got)
		}
		equal(t, "commits", len(s.committed), 3)
	})
}

func TestCommitHasATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			commit: func(ctx context.Context, _ []string) ([]ans, error) {
				<-ctx.Done()
				return nil, batch.Unsure(ctx.Err())
			},
			resolve: succeeds,
		}
		begin := time.Now()
		equal(t, "answers", wait(play(t, s, batch.Config{}, "a")...), []string{"a written"})
		equal(t, "took", time.Since(begin), 6*time.Second) // one before it
	})
}

func TestBadRowsAreHalvedOut(t *testing.T) {
	for name, tt := range map[string]struct{ ops, commits string }{
		"first":           {"a! b c d", "[a! b c d] [a! b] [a!] [b] [c d]"},
		"last of five":    {"a b c d e!", "[a b c d e!] [a b] [c d e!] [c] [d e!] [d] [e!]"},
		"two in one half": {"a b c! d!", "[a b c! d!] [a b] [c! d!] [c!] [d!]"},
		"all":             {"a! b! c!", "[a! b! c!] [a!] [b! c!] [b!] [c!]"},
		"alone":           {"a!", "[a!]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ops := strings.Fields(tt.ops)
				s := &script{commit: refusesBad}
				cs := play(t, s, batch.Config{}, ops...)
				var want, commits []string
				for i, op := range ops {
					if strings.HasSuffix(op, "!") {
						want = append(want, "bad "+op)
						if errors.Unwrap(cs[i].err) != nil {
							t.Errorf("the error of %s is still marked: %#v", op, cs[i].err)
						}
					} else {
						want = append(want, op+" written")
					}
				}
				for _, c := range s.committed {
					commits = append(commits, "["+strings.Join(c, " ")+"]")
				}
				equal(t, "answers", wait(cs...), want)
				equal(t, "commits", strings.Join(commits, " "), tt.commits)
			})
		})
	}
}

func TestOtherErrorsGoToEachCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: fails(errDown)}
		for _, c := range play(t, s, batch.Config{}, "a", "b") {
			if c.err != errDown {
				t.Errorf("error is %v, want %v", c.err, errDown)
			}
		}
		equal(t, "commits", len(s.committed), 1)
		equal(t, "resolves", len(s.resolved), 0)
	})
}

func TestAnswersMayBeErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: func(_ context.Context, ops []string) ([]ans, error) {
			out := written(ops)
			out[1] = ans{Err: errors.New("lost the race")}
			return out, nil
		}}
		got := wait(play(t, s, batch.Config{}, "a", "b", "c")...)
		equal(t, "answers", got, []string{"a written", "lost the race", "c written"})
	})
}

// landed resolves an unsure batch: what begins with a is there, the rest is not.
func landed(_ context.Context, ops []string) ([]ans, error) {
	out := written(ops)
	for i, op := range ops {
		if op[0] != 'a' {
			out[i] = ans{Err: errNotThere}
		}
	}
	return out, nil
}

func TestUnsureIsResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: fails(batch.Unsure(io.ErrUnexpectedEOF)), resolve: after(2, fails(errDown), landed)}
		got := wait(play(t, s, batch.Config{}, "a", "b")...)
		equal(t, "answers", got, []string{"a written", "did not land"})
		equal(t, "commits", s.committed, [][]string{{"a", "b"}})
		equal(t, "resolves", s.resolved, [][]string{{"a", "b"}, {"a", "b"}, {"a", "b"}})
	})
}

func TestUnsureAfterARepeatIsResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			commit:  after(1, fails(batch.Repeat(errDeadlock)), fails(batch.Unsure(io.EOF))),
			resolve: landed,
		}
		equal(t, "answers", wait(play(t, s, batch.Config{}, "a", "b")...), []string{"a written", "did not land"})
		equal(t, "commits", len(s.committed), 2)
	})
}

func TestUnsureInAHalfIsResolvedForThatHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{resolve: landed}
		s.commit = func(ctx context.Context, ops []string) ([]ans, error) {
			if slices.Equal(ops, []string{"a", "b"}) {
				return nil, batch.Unsure(io.ErrUnexpectedEOF)
			}
			return refusesBad(ctx, ops)
		}
		got := wait(play(t, s, batch.Config{}, "a", "b", "c!", "d")...)
		equal(t, "answers", got, []string{"a written", "did not land", "bad c!", "d written"})
		equal(t, "resolves", s.resolved, [][]string{{"a", "b"}})
	})
}

func TestUnsureForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &script{commit: fails(batch.Unsure(io.ErrUnexpectedEOF)), resolve: fails(errDown)}
		for _, c := range play(t, s, batch.Config{ResolveTimeout: 3 * time.Second}, "a", "b") {
			if _, ok := errors.AsType[*batch.UnsureError](c.err); !ok {
				t.Errorf("error is %v, want an *UnsureError", c.err)
			}
			if !errors.Is(c.err, io.ErrUnexpectedEOF) || !errors.Is(c.err, errDown) {
				t.Errorf("%q does not say why the commit and the question failed", c.err)
			}
		}
		equal(t, "took", time.Since(begin), 4*time.Second) // one before it
		if n := len(s.resolved); n < 4 {
			t.Errorf("asked %d times in three seconds", n)
		}
		equal(t, "commits", len(s.committed), 1)
	})
}

func TestPanicInCommitIsUnsure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &script{commit: panics, resolve: landed}
		cfg := batch.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		equal(t, "answers", wait(play(t, s, cfg, "a", "b")...), []string{"a written", "did not land"})
		if !strings.Contains(log.String(), "out of cheese") || !strings.Contains(log.String(), "script_test.go") {
			t.Errorf("the log does not say what panicked where:\n%s", log.String())
		}
	})
}

func TestPanicsEverywhereLeaveTheQueueAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{commit: after(1, panics, succeeds), resolve: panics}
		q := start(t, s, whole, batch.Config{})
		_, err := q.Do(t.Context(), "a")
		if _, ok := errors.AsType[*batch.UnsureError](err); !ok || !strings.Contains(err.Error(), "out of cheese") {
			t.Errorf("error is %v, want an *UnsureError that tells of the panic", err)
		}
		equal(t, "next", wait(do(t, q, "b")...), []string{"b written"})
	})
}

func TestWrongNumberOfAnswers(t *testing.T) {
	short := func(_ context.Context, ops []string) ([]ans, error) { return written(ops[1:]), nil }
	for name, s := range map[string]*script{
		"commit":  {commit: short},
		"resolve": {commit: fails(batch.Unsure(io.EOF)), resolve: short},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, c := range play(t, s, batch.Config{}, "a", "b") {
					if _, ok := errors.AsType[*batch.UnsureError](c.err); !ok {
						t.Errorf("error is %v, want an *UnsureError: it may be written", c.err)
					}
				}
			})
		})
	}
}

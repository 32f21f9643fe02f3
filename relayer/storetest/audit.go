package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func auditTests() []test {
	return []test{
		{"audit/what is late", auditLate},
		{"audit/paused is a reason, but for what expired", auditPaused},
		{"audit/routes that are not configured", auditRoutes},
		{"audit/lines are counted, not all kept", auditMost},
		{"audit/numbers left out", auditNumbers},
	}
}

// inspected is what a check finds of this test's names.
func (f *fixture) inspected(check string, a intents.Audit) []string {
	f.Helper()
	all, err := f.Inspect(f.ctx, a)
	f.must(err)
	i := slices.IndexFunc(all, func(a intents.Audited) bool { return a.Check == check })
	if i < 0 {
		f.Fatalf("no check %q in %+v", check, all)
	}
	return slices.DeleteFunc(all[i].Lines, func(line string) bool { return !strings.Contains(line, f.tag) })
}

// wantLines wants each of these texts to stand in a line of its own, and no other line.
func (f *fixture) wantLines(lines []string, texts ...string) {
	f.Helper()
	left := slices.Clone(lines)
	for _, text := range texts {
		i := slices.IndexFunc(left, func(line string) bool { return strings.Contains(line, text) })
		if i < 0 {
			f.Errorf("nothing is found of %q: %q", text, lines)
			return
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		f.Errorf("also found: %q", left)
	}
}

func auditLate(f *fixture) {
	soonDue, later := f.taken(), f.taken()
	f.must(f.Park(f.ctx, soonDue, 0))
	f.signer(0, 8)
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	watched := f.complete(cl, intents.Result{Verdict: intents.Unknown, After: soon})
	empty := f.complete(f.counter(), intents.Result{Verdict: intents.Declined}) // before bytes: its number is to be filled
	f.stands(empty, intents.Failed, 4, intents.ReasonRefused)
	f.until("all of it is late", func() bool { return len(f.inspected(intents.CheckLate, intents.Audit{Late: soon})) == 4 })
	f.wantLines(f.inspected(intents.CheckLate, intents.Audit{Late: soon}),
		soonDue.ID+" is", watched.ID+" is", watched.ID+" is", f.scope+"#1 is to be filled")
	f.wantLines(f.inspected(intents.CheckLate, intents.Audit{Late: time.Hour}))
	if later.DueAt.IsZero() {
		f.Error("what is not due yet is never")
	}
}

func auditPaused(f *fixture) {
	waits, expired := f.taken(), f.taken(func(in *intents.Intent) { in.ExpiresAt = time.Now().Add(-time.Hour) })
	for _, in := range []intents.Intent{waits, expired} {
		f.must(f.Park(f.ctx, in, 0))
	}
	f.must(f.SetPaused(f.ctx, f.route, true, "ann"))
	f.until("it is late", func() bool { return len(f.inspected(intents.CheckLate, intents.Audit{Late: soon})) == 1 })
	f.wantLines(f.inspected(intents.CheckLate, intents.Audit{Late: soon}), expired.ID+" is")
	f.must(f.SetPaused(f.ctx, f.route, false, "ann"))
	f.wantLines(f.inspected(intents.CheckLate, intents.Audit{Late: soon}), waits.ID+" is", expired.ID+" is")
}

func auditRoutes(f *fixture) {
	f.taken()
	created, err := f.Create(f.ctx, f.intent(), false, "tester")
	f.must(err)
	other := f.taken(func(in *intents.Intent) { in.Route += ".other" })
	f.wantLines(f.inspected(intents.CheckRoutes, intents.Audit{Routes: []string{f.route, "more"}}), other.Route+" is not configured and has 1 open")
	f.wantLines(f.inspected(intents.CheckRoutes, intents.Audit{Routes: []string{}}), f.route+" is not configured and has 2 open", other.Route+" is")
	for _, in := range []intents.Intent{created, other} {
		_, err := f.Cancel(f.ctx, in.ID, "ann")
		f.must(err)
	}
	f.wantLines(f.inspected(intents.CheckRoutes, intents.Audit{Routes: []string{}}), f.route+" is not configured and has 1 open")
}

func auditMost(f *fixture) {
	for range 3 {
		f.must(f.Park(f.ctx, f.taken(), 0))
	}
	var late intents.Audited
	f.until("they are late", func() bool {
		all, err := f.Inspect(f.ctx, intents.Audit{Late: soon, Most: 2})
		f.must(err)
		late = all[len(all)-1]
		return late.Found >= 3
	})
	if late.Check != intents.CheckLate || len(late.Lines) != 2 {
		f.Errorf("got %+v, want two lines kept", late)
	}
}

// auditNumbers: what the chain has used without us is left out knowingly, and is no gap.
func auditNumbers(f *fixture) {
	f.signer(3, 8)
	f.claim(f.counted(f.taken()))
	_, err := f.See(f.ctx, f.scope, 6)
	f.must(err)
	s, err := f.Unfreeze(f.ctx, f.scope, "by hand", "ann")
	f.must(err)
	if s.Open != 1 || s.Ahead != 0 {
		f.Errorf("unfrozen: got %+v, want one open and none ahead", s)
	}
	if n := f.claim(f.counted(f.taken())).Slot().Number; n != 6 {
		f.Errorf("the next number is %d, want 6", n)
	}
	f.wantLines(f.inspected(intents.CheckNumbers, intents.Audit{}))
}

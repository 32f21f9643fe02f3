package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// TestCase106: the other side is asked before anything is sent again. What is done or on its way is not, whatever the page
// said that the person looked at.
func TestCase106(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	done := o.must(o.store.Complete(t.Context(), o.claimed("pi_done", intents.Always, true), intents.Result{Verdict: intents.Done, Ref: "r"}))
	sent := o.must(o.store.Complete(t.Context(), o.claimed("pi_sent", intents.Always, true), intents.Result{Verdict: intents.Accepted, Ref: "r"}))
	failed, landed := o.reviewed("pi_failed", false), o.reviewed("pi_landed", true)
	again := func(in intents.Intent, code int, says string) intents.Intent {
		t.Helper()
		got, stdout, stderr := o.relayer("review", "retry", in.ID, "--version", fmt.Sprint(in.Version), "--reason", "again", "--may-pay-twice")
		if got != code || !strings.Contains(stdout+stderr, says) {
			t.Errorf("retry of %s: exit %d, %s%s, want %d, %q", in.ID, got, stdout, stderr, code, says)
		}
		return o.get(in.ID)
	}
	for _, in := range []intents.Intent{done, sent} {
		if got := again(in, exitFailed, "cannot become settling"); got.Version != in.Version {
			t.Errorf("%s moved to %s", in.ID, got.State)
		}
	}
	if code, _, stderr := o.relayer("review", "fail", failed.ID, "--version", "4", "--reason", "never arrived"); code != 0 {
		t.Fatalf("fail: exit %d, %s", code, stderr)
	}
	failed = o.get(failed.ID)
	if got := again(failed, exitFailed, "is failed and cannot become settling"); got.State != intents.Failed {
		t.Errorf("what failed is %s", got.State)
	}
	o.oracle.facts["pi_failed"], o.oracle.facts["pi_landed"] = intents.Final, intents.Final
	if got := again(failed, exitOK, "settled"); got.State != intents.Settled || got.Ref != "ref-pi_failed" {
		t.Errorf("what failed and landed is %s, ref %q", got.State, got.Ref)
	}
	if got := again(landed, exitOK, "settled"); got.State != intents.Settled || o.moves(landed.ID, intents.Settling) != 0 {
		t.Errorf("what landed is %s", got.State)
	}
}

// TestCase109: a bulk retry moves what is safe to send again and nothing else, each on the version that it saw. It says
// what it left and why; interrupted and run again it moves nothing twice.
func TestCase109(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	safe, untouched := o.crowd()
	bulk := func(code int, want string, more ...string) {
		t.Helper()
		args := append([]string{"review", "retry", "--all", "--route", "webhooks", "--reason", "the provider was down", "--as", "ann"}, more...)
		got, stdout, stderr := o.relayer(args...)
		if got != code || !strings.Contains(stdout, "review retry: "+want) || strings.Contains(stderr, "interrupted") != (code != exitOK) {
			t.Errorf("exit %d, %s%s, want %d, %q", got, stdout, stderr, code, want)
		}
	}
	bulk(exitOK, "40 would be moved (--yes moves them), 0 ended by proof, 10 skipped (10 its bytes must not be sent again)")
	if o.oracle.asked > 0 || o.moves(safe[0], intents.Settling) > 0 {
		t.Fatal("the dry run did something")
	}

	byHand := map[string]bool{safe[3]: true, safe[9]: true, safe[17]: true, safe[25]: true, safe[33]: true}
	landed := safe[5]
	o.oracle.facts[landed] = intents.Final
	o.oracle.while = func(id string) error {
		if o.oracle.asked == 20 {
			return context.Canceled // Ctrl-C
		}
		if in := o.get(id); byHand[id] && in.State == intents.NeedsReview {
			_, _, err := o.store.Resolve(t.Context(), id, intents.Order{Verb: intents.Fail, Version: in.Version, Actor: "bob", Reason: "by hand"})
			return err
		}
		return nil
	}
	bulk(exitFailed, "15 moved, 1 ended by proof, 8 skipped (5 its bytes must not be sent again; 3 moved meanwhile)", "--yes")
	bulk(exitOK, "19 moved, 0 ended by proof, 12 skipped (10 its bytes must not be sent again; 2 moved meanwhile)", "--yes")
	bulk(exitOK, "0 moved, 0 ended by proof, 10 skipped (10 its bytes must not be sent again)", "--yes")
	for _, id := range safe {
		want, times := intents.Settling, 1
		if byHand[id] {
			want, times = intents.Failed, 0
		} else if id == landed {
			want, times = intents.Settled, 0
		}
		if in, n := o.get(id), o.moves(id, intents.Settling); in.State != want || n != times {
			t.Errorf("%s is %s, moved %d times, want %s, %d", id, in.State, n, want, times)
		}
	}
	for id, was := range untouched {
		if now := o.get(id); now.Version != was.Version || now.State != was.State {
			t.Errorf("%s was %s v%d and is %s v%d", id, was.State, was.Version, now.State, now.Version)
		}
	}
}

// crowd is a route with all sorts of intents: those that are safe to send again, and those that must stay as they are.
func (o *office) crowd() (safe []string, untouched map[string]intents.Intent) {
	o.Helper()
	untouched = map[string]intents.Intent{}
	for n := range 60 {
		cl := o.claimed(fmt.Sprintf("pi_failed_%02d", n), intents.Always, true)
		untouched[cl.Intent.ID] = o.must(o.store.Complete(o.Context(), cl, intents.Result{Verdict: intents.Declined}))
	}
	for n := range 50 {
		id := fmt.Sprintf("pi_review_%02d", n)
		if n%5 == 0 {
			untouched[id] = o.reviewed(id, false)
			continue
		}
		o.reviewed(id, true)
		safe = append(safe, id)
	}
	for n := range 20 {
		in := o.claimed(fmt.Sprintf("pi_sending_%02d", n), intents.Always, true).Intent
		untouched[in.ID] = in
	}
	return safe, untouched
}

// TestSettleAsksFirst: what is said against a reference stands against the order, and in the timeline when a person insists.
func TestSettleAsksFirst(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	facts := map[string]intents.Fact{"0xfinal": intents.Final, "0xyoung": intents.Included, "0xpool": intents.Pending, "0xbad": intents.Reverted, "0xother": intents.Dead, "0xtaken": intents.Final}
	maps.Copy(o.oracle.facts, facts)
	o.must(o.store.Complete(t.Context(), o.claimed("pi_taken", intents.Always, true), intents.Result{Verdict: intents.Done, Ref: "0xtaken"}))
	settle := func(id, ref string, more ...string) (int, string) {
		code, stdout, stderr := o.relayer(append([]string{"review", "settle", id, "--version", "4", "--reason", "why", "--ref", ref}, more...)...)
		return code, stdout + stderr
	}
	for ref, says := range map[string]string{
		"0xyoung": "not beyond recall yet", "0xpool": "has not done it yet", "0xbad": "executed without effect", "0xother": "not this payment",
		"0xnone": "does not show it", "0xtaken": "it is the reference of pi_taken, which is settled", // case 103
	} {
		id := "pi_" + ref
		was := o.reviewed(id, false)
		if code, text := settle(id, ref); code != exitFailed || !strings.Contains(text, says) || !strings.Contains(text, "; --unconfirmed settles it all the same") {
			t.Errorf("%s: exit %d, %s, want %q", ref, code, text, says)
		}
		if now := o.get(id); now.Version != was.Version {
			t.Errorf("%s: refused, and it is %s", ref, now.State)
		}
		if code, text := settle(id, ref, "--unconfirmed"); code != exitOK || o.get(id).State != intents.Settled || !strings.Contains(o.lastDetail(id), says) {
			t.Errorf("%s, insisted on: exit %d, %s, %s", ref, code, text, o.lastDetail(id))
		}
	}
	o.reviewed("pi_final", false)
	if code, text := settle("pi_final", "nonsense"); code != exitUsage || !strings.Contains(text, `ref: "nonsense" is invalid`) {
		t.Errorf("what is no reference: exit %d, %s", code, text)
	}
	o.oracle.referError = errors.New("no route to host")
	if code, text := settle("pi_final", "0xfinal"); code != exitFailed || !strings.Contains(text, "no route to host") || o.get("pi_final").State != intents.NeedsReview {
		t.Errorf("nobody answers: exit %d, %s", code, text)
	}
	o.oracle.referError = nil
	if code, text := settle("pi_final", "0xfinal"); code != exitOK || !strings.Contains(o.lastDetail("pi_final"), `"confirmed":true`) {
		t.Errorf("confirmed: exit %d, %s, %s", code, text, o.lastDetail("pi_final"))
	}
}

// TestFailAsksFirst: where the other side cannot be asked nothing is decided.
func TestFailAsksFirst(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	was := o.reviewed("pi_1", true)
	o.oracle.while = func(string) error { return errors.New("no route to host") }
	code, _, stderr := o.relayer("review", "fail", "pi_1", "--version", fmt.Sprint(was.Version), "--reason", "x")
	if code != exitFailed || !strings.Contains(stderr, "the other side cannot be asked, nothing was decided: observe: no route to host") || o.get("pi_1").Version != was.Version {
		t.Errorf("exit %d, %s", code, stderr)
	}
	code, stdout, stderr := o.relayer("review", "show", "pi_1")
	if code != exitOK || !strings.Contains(stdout, "cannot be asked: observe: no route to host") || !strings.Contains(stdout, "relayer review fail pi_1 --version 5") {
		t.Errorf("show: exit %d, %s%s", code, stdout, stderr)
	}
	o.oracle.while = func(id string) error { // another decides meanwhile
		_, _, err := o.store.Resolve(t.Context(), id, intents.Order{Verb: intents.Settle, Version: was.Version, Actor: "bob", Reason: "seen", Ref: "r"})
		return err
	}
	code, _, stderr = o.relayer("review", "fail", "pi_1", "--version", fmt.Sprint(was.Version), "--reason", "x", "--as", "ann")
	if code != exitFailed || !strings.Contains(stderr, "bob moved it from needs_review to settled at 20") {
		t.Errorf("overtaken: exit %d, %s", code, stderr)
	}
}

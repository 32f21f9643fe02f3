package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// face shows of an intent what a model and a store must have in common: no keys, and of times only what they decide.
func face(in intents.Intent) string {
	now := in.ReadAt
	s := fmt.Sprintf("%s %s v%d %q ref %q held %s slot %d/%s/%d/%s stored %d", in.ID, in.State, in.Version, in.Reason, in.Ref, in.Held(),
		in.Slot.Kind, in.Slot.Scope, in.Slot.Number, in.Slot.Name, in.Stored)
	s += fmt.Sprintf(" calls %d silent %d seen %t claim %q runs %t", in.Calls, in.Silent, in.Seen, in.ClaimID, in.Claimed(now))
	s += fmt.Sprintf(" pruned %t paused %t again %t", !in.PrunedAt.IsZero(), in.Paused, in.Stored == 0 || in.MayResend(now))
	return s + fmt.Sprintf(" try %t/%t due %t/%t watch %t", in.TryAt.IsZero(), now.Before(in.TryAt), in.DueAt.IsZero(), now.Before(in.DueAt), in.WatchAt.IsZero())
}

// word names what an error says, without what differs from store to store.
func word(err error) string {
	if no, ok := errors.AsType[*intents.NotClaimedError](err); ok {
		return "not claimed: " + string(no.Why)
	}
	if no, ok := errors.AsType[*intents.ConflictError](err); ok {
		return fmt.Sprintf("conflict of %s: %s, %s", no.Why, no.Have, no.Got)
	}
	if no, ok := errors.AsType[*intents.TransitionError](err); ok {
		return no.Error()
	}
	if no, ok := errors.AsType[*intents.InvalidError](err); ok {
		return "invalid " + no.Field
	}
	if no, ok := errors.AsType[*intents.PrunedError](err); ok {
		return "pruned, " + no.State.String()
	}
	for _, e := range []error{intents.ErrNotFound, intents.ErrMoved, intents.ErrSlotClosed, intents.ErrNoSigner} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return fmt.Sprint(err)
}

// faces shows intents in their order.
func faces(ins []intents.Intent) string {
	var lines []string
	for _, in := range ins {
		lines = append(lines, face(in))
	}
	return strings.Join(lines, "\n")
}

func openness(sg intents.Signer) string {
	return fmt.Sprintf("next %d open %d ahead %d frozen %q", sg.Next, sg.Open, sg.Ahead, sg.Frozen)
}

// sums shows the accounts and the signer of a run. An account nobody credited and nothing moved may exist or not.
func (s *side) sums(tag string) (string, error) {
	var out []string
	for i := range 2 {
		as, err := s.Accounts(s.ctx, fmt.Sprintf("%s.%d", tag, i))
		if err != nil {
			return "", err
		}
		for _, a := range as {
			if a.Enforced || a.Posted.Sign() != 0 || a.Pending.Sign() != 0 {
				out = append(out, fmt.Sprintf("%+v", a))
			}
		}
	}
	signers, err := s.Signers(s.ctx)
	for _, sg := range signers {
		if sg.Scope == tag {
			out = append(out, openness(sg))
		}
	}
	return strings.Join(out, "\n"), err
}

// timeline shows an intent's events, each once, and its bytes, and what is wrong with them.
func (s *side) timeline(id string) (string, error) {
	wrong, err := trace(s.ctx, s, id)
	if err != nil {
		return "", err
	}
	events, err := s.Events(s.ctx, id)
	if err != nil {
		return "", err
	}
	lines := s.found(wrong)
	for _, e := range events {
		line := fmt.Sprintf("v%d %s %s>%s %q %q %q %d", e.Version, e.Kind, e.From, e.To, e.Reason, e.ClaimID, e.Ref, len(e.Detail))
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	as, err := s.Attempts(s.ctx, id)
	for _, a := range as {
		lines = append(lines, attempt(a))
	}
	return fmt.Sprintf("%q", lines), err
}

func attempt(a intents.Attempt) string {
	return fmt.Sprintf("%d %s %q %q %s#%d", a.No, a.Kind, a.Bytes, a.Name, a.Slot.Scope, a.Slot.Number)
}

// fillers shows the slots to be filled, and their bytes.
func (s *side) fillers(route string) (string, error) {
	ws, err := s.Watches(s.ctx, route, 1000)
	var out []string
	for _, w := range ws {
		if w.Intent.ID == "" {
			out = append(out, fmt.Sprintf("%d with %d", w.Slot.Number, len(w.Attempts)))
		}
	}
	slices.Sort(out)
	return fmt.Sprint(out), err
}

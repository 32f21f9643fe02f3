package simtest

import (
	"context"
	"errors"

	"github.com/nsqrelayer/relayer/intents"
)

func slotVariants() []variant {
	return []variant{
		before("first stored bytes not kept", func(d *database) rows { return &lastBytes{d} }),
		before("closed slot takes bytes", func(d *database) rows { return &openSlots{d} }),
		before("new slot on retry", func(d *database) rows { return &newSlots{d} }),
		before("slot with bytes given back", func(d *database) rows { return &givenBack{d} }),
		{"not seen taken for dead", func() broken { return broken{onObserve: unseenIsDead} }},
		{"included taken for beyond recall", func() broken { return broken{onObserve: includedIsFinal} }},
		{"observer sends again what must not be", func() broken {
			return broken{onObserve: askAgain, onRows: func(d *database) rows { return &resendable{d} }}
		}},
		{"what a stranger paid not compared", func() broken { return broken{onObserve: nobody} }},
		before("tombstones forgotten", func(d *database) rows { return &forgetful{d} }),
	}
}

// lastBytes has everybody send the bytes he made himself.
type lastBytes struct{ *database }

func (l *lastBytes) Attach(ctx context.Context, a intents.Attempt) (intents.Attempt, error) {
	stored, err := l.database.Attach(ctx, a)
	if err == nil {
		stored.Bytes, stored.Name = a.Bytes, a.Name
	}
	return stored, err
}

// openSlots says that bytes are stored in slots that are closed.
type openSlots struct{ *database }

func (o *openSlots) Attach(ctx context.Context, a intents.Attempt) (intents.Attempt, error) {
	stored, err := o.database.Attach(ctx, a)
	if errors.Is(err, intents.ErrSlotClosed) {
		return a, nil
	}
	return stored, err
}

// dead has the database believe that nothing in an intent's slot can happen any more.
func (d *database) dead(ctx context.Context, in intents.Intent, f intents.Fact) {
	w := intents.Watch{Intent: in, Slot: in.Slot}
	o := intents.Observation{Slot: in.Slot, Fact: f, Of: in.Stored}
	_, _ = d.Record(ctx, []intents.Watch{w}, []intents.Observation{o}, intents.Patience{})
}

// newSlots gives a retry a new slot.
type newSlots struct{ *database }

func (n *newSlots) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	in, err := n.Get(ctx, c.Intent.ID)
	if err == nil && in.State == intents.Settling && !in.Claimed(in.ReadAt) && in.Stored > 0 {
		n.dead(ctx, in, intents.Dead)
	}
	return n.database.Claim(ctx, c)
}

// givenBack gives the slot back where bytes were not sent this time.
type givenBack struct{ *database }

func (g *givenBack) Complete(ctx context.Context, cl intents.Claimed, r intents.Result) (intents.Intent, error) {
	out, err := g.database.Complete(ctx, cl, r)
	if in, _ := g.Get(ctx, cl.Intent.ID); err == nil && r.Verdict == intents.NotSent && in.State == intents.Settling && in.Stored > 0 {
		g.dead(ctx, in, intents.Dead)
	}
	return out, err
}

func unseenIsDead(w intents.Watch, os []intents.Observation) []intents.Observation {
	for i := range os {
		if os[i].Fact == intents.NotSeen && w.Intent.ID != "" {
			os[i].Fact, os[i].Resend = intents.Dead, false
		}
	}
	return os
}

func includedIsFinal(_ intents.Watch, os []intents.Observation) []intents.Observation {
	for i := range os {
		if os[i].Fact == intents.Included {
			os[i].Fact = intents.Final
		}
	}
	return os
}

// nobody tells that a slot is dead, and not by whom.
func nobody(_ intents.Watch, os []intents.Observation) []intents.Observation {
	for i := range os {
		os[i].Foreign = nil
	}
	return os
}

// askAgain asks for what was not seen to be sent again, whatever was planned.
func askAgain(w intents.Watch, os []intents.Observation) []intents.Observation {
	if len(os) == 0 && len(w.Attempts) > 0 {
		os = append(os, intents.Observation{Slot: w.Slot, No: 1, Resend: true})
	}
	return os
}

// resendable shows every intent as one whose bytes may be sent again, by anybody.
type resendable struct{ *database }

func (r *resendable) Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	ins, err := r.database.Record(ctx, ws, os, p)
	for i := range ins {
		ins[i].AgainUntil = intents.Always.Until(ins[i].ReadAt)
		if ins[i].State == intents.Settling {
			ins[i].State = intents.Confirming
		}
	}
	return ins, err
}

// forgetful takes a pruned intent for a new one. The other side does not know it by another name.
type forgetful struct{ *database }

func (f *forgetful) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	if _, pruned := f.tombs[m.ID]; pruned && m.Full {
		m.ID += "~"
		m.Intent.ID = m.ID
	}
	return f.database.Take(ctx, m)
}

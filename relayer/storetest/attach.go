package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/nsqrelayer/relayer/intents"
)

func attachTests() []test {
	return []test{
		{"attach/first stored wins", attachFirst},
		{"attach/first stored wins, at once", attachAtOnce},
		{"attach/again (case 38)", attachAgain},
		{"attach/bumps", attachBumps},
		{"attach/closed slot", attachClosed},
		{"attach/unknown slot", attachUnknown},
		{"attach/any bytes", attachBytes},
		{"attach/in review", attachReview},
		{"attach/by who lost the claim", attachLate},
	}
}

func (f *fixture) counter() intents.Claimed {
	f.Helper()
	f.signer(0, 8)
	return f.claim(f.counted(f.taken()))
}

func attachFirst(f *fixture) {
	cl := f.counter()
	mine := f.attach(cl.Slot(), 1, "mine")
	if string(mine.Bytes) != "mine" || mine.No != 1 || mine.Kind != intents.First || mine.Name != "name of mine" || mine.Slot != cl.Slot() {
		f.Errorf("attached: got %+v", mine)
	}
	if got := f.attach(cl.Slot(), 1, "theirs"); string(got.Bytes) != "mine" || got.Name != "name of mine" {
		f.Errorf("the second got %+v, want the first bytes", got)
	}
	in := f.get(cl.Intent.ID)
	if in.Stored != 1 || in.Version != cl.Intent.Version {
		f.Errorf("stored %d, v%d; want 1 in the same version", in.Stored, in.Version)
	}
}

func attachAtOnce(f *fixture) {
	cl := f.counter()
	got := [16]string{}
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			a, err := f.Attach(f.ctx, intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: fmt.Append(nil, i), Name: "n"})
			if err != nil {
				f.Errorf("attach: %v", err)
			}
			got[i] = string(a.Bytes)
		})
	}
	wg.Wait()
	for _, b := range got {
		if b == "" || b != got[0] {
			f.Fatalf("bytes to send differ: %q", got)
		}
	}
	if in := f.get(cl.Intent.ID); in.Stored != 1 {
		f.Errorf("stored is %d", in.Stored)
	}
}

func attachAgain(f *fixture) {
	cl := f.counter()
	first := f.attach(cl.Slot(), 1, "tx")
	before := f.get(cl.Intent.ID)
	again := f.attach(cl.Slot(), 1, "tx")
	if !bytes.Equal(first.Bytes, again.Bytes) || first.Name != again.Name {
		f.Errorf("got %+v, then %+v", first, again)
	}
	f.same(before, f.get(cl.Intent.ID))
}

func attachBumps(f *fixture) {
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	f.attach(cl.Slot(), 2, "dearer")
	f.attach(cl.Slot(), 3, "dearest")
	in := f.get(cl.Intent.ID)
	if in.Stored != 3 {
		f.Errorf("stored is %d, want 3", in.Stored)
	}
	as, err := f.Attempts(f.ctx, in.ID)
	f.must(err)
	f.wantBytes(as, "tx", "dearer", "dearest")
	if as[1].Kind != intents.Bump {
		f.Errorf("kind: got %s", as[1].Kind)
	}
	in = f.complete(cl, intents.Result{After: soon})
	f.wantBytes(f.claim(f.counted(in)).Attempts, "tx", "dearer", "dearest")
}

// attachClosed: no bytes go into a slot whose intent has ended, not even those that are there.
func attachClosed(f *fixture) {
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	f.complete(cl, intents.Result{Verdict: intents.Done, Ref: "tx"})
	keyed := f.claim(f.keyed(f.taken()))
	f.complete(keyed, intents.Result{Verdict: intents.Declined})
	for _, s := range []intents.Slot{cl.Slot(), keyed.Slot()} {
		for no := range 2 {
			f.closed(intents.Attempt{Slot: s, No: no + 1, Kind: intents.Bump, Bytes: []byte("tx"), Name: "tx"})
		}
	}
	if in := f.get(cl.Intent.ID); in.Stored != 1 {
		f.Errorf("stored is %d", in.Stored)
	}
	if s := f.readSigner(); s.Open != 0 {
		f.Errorf("open is %d", s.Open)
	}
}

// closed wants an attempt to be refused because its slot is closed.
func (f *fixture) closed(a intents.Attempt) {
	f.Helper()
	if got, err := f.Attach(f.ctx, a); !errors.Is(err, intents.ErrSlotClosed) {
		f.Errorf("attach %s %d in %v: got %+v, %v, want ErrSlotClosed", a.Kind, a.No, a.Slot, got, err)
	}
}

func attachUnknown(f *fixture) {
	s := intents.Slot{ID: 1 << 60, Kind: intents.Counter, Scope: f.scope, Number: 9}
	f.closed(intents.Attempt{Slot: s, No: 1, Kind: intents.First, Bytes: []byte("tx"), Name: "tx"})
}

func attachBytes(f *fixture) {
	all := make([]byte, 1<<16)
	for i := range all {
		all[i] = byte(i)
	}
	a := intents.Attempt{Slot: f.counter().Slot(), No: 1, Kind: intents.First, Bytes: all, Name: "0x01", Expiry: intents.Expiry{Kind: intents.Time, At: 1}}
	got, err := f.Attach(f.ctx, a)
	f.must(err)
	if !bytes.Equal(got.Bytes, all) || got.Expiry != a.Expiry {
		f.Errorf("bytes were changed on their way")
	}
}

func attachReview(f *fixture) {
	f.signer(0, 8)
	c := f.counted(f.taken())
	c.Plan.Again, c.Plan.Seen = intents.Never, false
	cl := f.claim(c)
	f.attach(cl.Slot(), 1, "tx")
	f.stands(f.complete(cl, intents.Result{}), intents.NeedsReview, 4, intents.ReasonUnknown)
	f.attach(cl.Slot(), 2, "cancel")
	if in := f.get(cl.Intent.ID); in.Stored != 2 || in.Version != 4 {
		f.Errorf("stored %d, v%d", in.Stored, in.Version)
	}
}

// attachLate: bytes are true whoever made them. The taker gets those of the one it took over from.
func attachLate(f *fixture) {
	f.signer(0, 8)
	old := f.lapsed(f.counted(f.taken()))
	over := f.claim(f.counted(old.Intent))
	f.attach(old.Slot(), 1, "old")
	if got := f.attach(over.Slot(), 1, "new"); string(got.Bytes) != "old" {
		f.Errorf("the taker sends %q, want the bytes stored first", got.Bytes)
	}
}

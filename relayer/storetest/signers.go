package storetest

import (
	"sync"

	"github.com/nsqrelayer/relayer/intents"
)

func signerTests() []test {
	return []test{
		{"signers/opened once", signerOnce},
		{"signers/the chain is behind", signerBehind},
		{"signers/the chain is ahead", signerAhead},
		{"signers/numbers at once", signerAtOnce},
	}
}

func signerOnce(f *fixture) {
	for range 2 {
		if s := f.signer(7, 4); s.Scope != f.scope || s.Next != 7 || s.Window != 4 || s.Open != 0 || s.Frozen != "" || s.Seen != 7 {
			f.Errorf("signer: got %+v", s)
		}
	}
	if s := f.readSigner(); s.Next != 7 {
		f.Errorf("signer: got %+v", s)
	}
}

// signerBehind: numbers given out may not be on the chain yet. They are not given out again.
func signerBehind(f *fixture) {
	f.signer(7, 4)
	f.claim(f.counted(f.taken()))
	f.claim(f.counted(f.taken()))
	if s := f.signer(8, 4); s.Next != 9 || s.Seen != 8 || s.Open != 2 || s.Frozen != "" {
		f.Errorf("signer: got %+v", s)
	}
}

func signerAhead(f *fixture) {
	f.signer(7, 4)
	for range 2 {
		if s := f.signer(8, 4); s.Frozen == "" || s.Next != 7 || s.Seen != 8 {
			f.Errorf("signer: got %+v, want it frozen", s)
		}
	}
}

func signerAtOnce(f *fixture) {
	f.signer(0, 1000)
	var ins []intents.Intent
	for range 40 {
		ins = append(ins, f.taken())
	}
	numbers := make([]int64, len(ins))
	var wg sync.WaitGroup
	for i, in := range ins {
		wg.Go(func() {
			c := f.keyedAs(in, in.ID+".claim")
			c.Attempt, c.Plan.Slot = nil, intents.Counter
			cl, err := f.Claim(f.ctx, c)
			if err != nil {
				f.Errorf("claim: %v", err)
			}
			numbers[i] = cl.Slot().Number
		})
	}
	wg.Wait()
	given := map[int64]bool{}
	for _, n := range numbers {
		if n < 0 || n >= int64(len(ins)) || given[n] {
			f.Errorf("number %d was given out twice or leaves a gap", n)
		}
		given[n] = true
	}
}

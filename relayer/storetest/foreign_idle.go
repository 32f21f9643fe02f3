package storetest

import "github.com/nsqrelayer/relayer/intents"

// foreignIdle: a suspect that has a number, and no bytes for it, leaves it to be filled: none that pay come any more, and all
// numbers above wait for it. One that has bytes keeps its number.
func foreignIdle(f *fixture) {
	f.signer(7, 4)
	in := f.sent(f.unlike("a"))
	idle := f.claim(f.counted(f.taken(f.unlike("b"))))
	sent := f.sent(f.unlike("b"))
	f.suspected(f.record(in, f.foreign(f.tag+".b", 100), intents.Patience{}), 4)
	got := f.get(idle.Intent.ID)
	f.suspected(got, 4)
	if got.Slot != (intents.Slot{}) {
		f.Errorf("the suspect keeps %s", got.Slot)
	}
	if ws := f.fillers(f.route); len(ws) != 1 || ws[0].Slot.Number != 8 || len(ws[0].Attempts) != 0 {
		f.Errorf("to be filled: %+v, want number 8", ws)
	}
	got = f.get(sent.ID)
	f.suspected(got, 4)
	if got.Slot != sent.Slot {
		f.Errorf("the suspect with bytes has %s, had %s", got.Slot, sent.Slot)
	}
	f.sums(0, 300)
	fill := intents.Attempt{Slot: idle.Slot(), No: 1, Kind: intents.Fill, Bytes: []byte("empty"), Name: "y"}
	_, err := f.Attach(f.ctx, fill)
	f.must(err)
}

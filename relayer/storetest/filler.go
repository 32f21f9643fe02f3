package storetest

import (
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

func fillerTests() []test {
	return []test{
		{"filler/watched until it is used", fillerLife},
		{"filler/takes no payment", fillerNoPayment},
		{"filler/other routes do not see it", fillerRoute},
	}
}

// filler makes a number whose intent failed before bytes existed.
func (f *fixture) filler() intents.Claimed {
	f.Helper()
	cl := f.counter()
	f.stands(f.complete(cl, intents.Result{Verdict: intents.Declined}), intents.Failed, 4, intents.ReasonRefused)
	return cl
}

// fillers lists the slots of the route to be filled.
func (f *fixture) fillers(route string) []intents.Watch {
	f.Helper()
	ws, err := f.Watches(f.ctx, route, 100)
	f.must(err)
	return slices.DeleteFunc(ws, func(w intents.Watch) bool { return w.Intent.ID != "" })
}

func fillerLife(f *fixture) {
	slot := f.filler().Slot()
	ws := f.fillers(f.route)
	if len(ws) != 1 || ws[0].Slot != slot || len(ws[0].Attempts) != 0 || ws[0].Intent.Key != 0 {
		f.Fatalf("fillers: got %+v, want %v", ws, slot)
	}
	for range 2 {
		_, err := f.Attach(f.ctx, intents.Attempt{Slot: slot, No: 1, Kind: intents.Fill, Bytes: []byte("empty"), Name: "0xempty"})
		f.must(err)
	}
	ws = f.fillers(f.route)
	if len(ws) != 1 || len(ws[0].Attempts) != 1 || ws[0].Attempts[0].Kind != intents.Fill || ws[0].Attempts[0].Name != "0xempty" {
		f.Fatalf("fillers with bytes: got %+v", ws)
	}
	for _, fact := range []intents.Fact{intents.NotSeen, intents.Pending, intents.Included} {
		f.observeFiller(ws[0], fact)
		if got := f.fillers(f.route); len(got) != 1 {
			f.Fatalf("%s ended it", fact)
		}
	}
	for range 2 { // case 38
		f.observeFiller(ws[0], intents.Final)
		if got := f.fillers(f.route); len(got) != 0 || f.readSigner().Open != 0 {
			f.Fatalf("settled: got %+v, signer %+v", got, f.readSigner())
		}
	}
	f.closed(intents.Attempt{Slot: slot, No: 2, Kind: intents.Fill, Bytes: []byte("x"), Name: "x"})
}

func (f *fixture) observeFiller(w intents.Watch, fact intents.Fact) {
	f.Helper()
	got, err := f.Record(f.ctx, []intents.Watch{w}, []intents.Observation{{Slot: w.Slot, Fact: fact}}, intents.Patience{})
	f.must(err)
	if len(got) != 1 || got[0].ID != "" {
		f.Errorf("record of a filler: got %+v, want one zero intent", got)
	}
}

// fillerNoPayment: who prepared the payment of an intent that failed meanwhile must not send it in the slot to be filled.
func fillerNoPayment(f *fixture) {
	slot := f.filler().Slot()
	f.closed(intents.Attempt{Slot: slot, No: 1, Kind: intents.First, Bytes: []byte("tx"), Name: "tx"})
	if ws := f.fillers(f.route); len(ws) != 1 || len(ws[0].Attempts) != 0 {
		f.Errorf("fillers: got %+v, want one without bytes", ws)
	}
}

func fillerRoute(f *fixture) {
	f.filler()
	if ws := f.fillers(f.route + "2"); len(ws) != 0 {
		f.Errorf("the other route sees %+v", ws)
	}
}

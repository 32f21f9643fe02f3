package evm

import (
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// tally puts together what several nodes said to the same bytes.
type tally struct {
	ref      string
	accepted bool // one has them
	unsures  int  // how many may have them
	alive    bool // one said something other than: fewer calls
	taken    bool // one said that the number is used: most often by these bytes, sent by a process that died
	busy     bool // one asked for fewer calls
	known    bool // one was found to have them
	lost     bool // they were looked for at all nodes, and none has them
	after    time.Duration
	calm     time.Duration
	calls    []evidence
}

// ends says whether no other node need be asked: this one has the bytes, or says that the number is used, which no other
// node makes better (case 66).
func (r ruling) ends() bool { return r.verdict == intents.Accepted || r.class == taken }

func (t *tally) add(r ruling, e evidence) {
	t.calls = append(t.calls, e)
	switch r.verdict {
	case intents.Accepted:
		t.accepted, t.ref = true, r.ref
	case intents.NotSent:
	default:
		t.unsures++
	}
	t.alive = t.alive || !r.busy && !r.broken && e.Status != 0
	t.taken = t.taken || r.class == taken
	t.busy = t.busy || r.busy
	t.after, t.calm = sooner(t.after, r.after), sooner(t.calm, r.calm)
}

// result: who has the bytes decides. They were surely not sent only where no node that was asked may have them. The
// throttle is calmed when nothing is left but nodes that ask for fewer calls. A node that says the number is used is well.
// ended is the context's error.
func (t *tally) result(hash string, p *pool, ended error) intents.Result {
	switch {
	case t.accepted:
		return intents.Result{Verdict: intents.Accepted, Ref: t.ref, Evidence: encode(t.calls)}
	case t.known:
		found := evidence{Call: "eth_getTransactionByHash", Answered: true, Note: "a node has it"}
		return intents.Result{Verdict: intents.Accepted, Ref: hash, Evidence: encode(append(t.calls, found))}
	}
	r := intents.Result{Verdict: intents.NotSent, After: t.after, Alive: t.taken, Taken: t.foreign(), Evidence: encode(t.calls)}
	if t.unsures > 0 {
		r.Verdict = intents.Unknown
	}
	rest, calm := p.rest(time.Now())
	if calm > 0 && !t.alive {
		r.Calm, r.Known = t.calm, t.calm == 0
		if t.calm == 0 || len(t.calls) < len(p.nodes) { // others were left alone
			r.Calm = sooner(t.calm, calm)
		}
	}
	if len(t.calls) == 0 {
		none := evidence{Call: "eth_sendRawTransaction", Note: "no endpoint can be called now"}
		if ended != nil {
			none.Note = ended.Error()
		}
		r.After, r.Evidence = rest, encode([]evidence{none})
	}
	return r
}

// foreign says whether the number was surely used by other bytes, if nobody sent these before: the first node that may
// have them says it is used, and nobody has them.
func (t *tally) foreign() bool { return t.taken && t.lost && t.unsures == 1 }

package simtest

import "github.com/nsqrelayer/relayer/intents"

// foreign says whether what settled an intent is a stranger's transaction that pays it, beyond recall.
func (m *monitor) foreign(in intents.Intent) bool {
	c, ok := m.s.recipient.(*chain)
	return ok && c.refer(in, in.Ref).Fact == intents.Final
}

// ordered judges a person's order: it counts about the version that he saw, and once.
func (m *monitor) ordered(was intents.Intent, o intents.Order, again bool) {
	in := m.last[was.ID]
	m.wants(in.Version == was.Version || was.Version == o.Version && !again, "%s: an order about version %d moved version %d (%s)",
		was.ID, o.Version, was.Version, o.Actor)
}

// told judges what a process wrote about a call. A fact is believed whoever brings it; a permission only from who holds
// the claim.
func (m *monitor) told(was intents.Intent, cl intents.Claimed, r intents.Result) {
	in := m.last[cl.Intent.ID]
	if _, pruned := m.s.db.tombs[in.ID]; pruned {
		return
	}
	if r.Verdict == intents.Accepted || r.Verdict == intents.Done {
		m.wants(in.State != intents.Settling && in.State != intents.Authorized, "law C: %s is %s after %s", in.ID, in.State, r.Verdict)
		return
	}
	m.wants(in.Version == was.Version || was.ClaimID == cl.Intent.ClaimID, "law C: %s moved by %s of claim %s, under claim %s",
		in.ID, r.Verdict, cl.Intent.ClaimID, was.ClaimID)
}

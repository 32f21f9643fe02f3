package console

import (
	"fmt"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// reasonWords says why an intent stands where it stands.
func reasonWords(in intents.Intent) string {
	switch in.Reason {
	case intents.ReasonUnknown:
		return "It was sent and no clear answer came. It is not sent again by itself, and nothing here watches what becomes of it."
	case intents.ReasonSilent:
		return "Five workers in a row took it and never reported back."
	case intents.ReasonAbandoned:
		return "It was taken for sending, nothing was seen of it for too long, and it may not be sent again by itself."
	case intents.ReasonUnseen:
		return "The other side took it long ago, and it has not come to an end."
	case intents.ReasonForeign:
		return "A transaction that the relayer did not make may have been this payment."
	case intents.ReasonOddity:
		return "What was observed contradicts what is written here."
	case intents.ReasonForgotten:
		return "The database lost what it had committed: this may have been sent without a trace here."
	case intents.ReasonExpired:
		return "It was past its expiry before anybody sent it."
	case intents.ReasonRefused:
		return "It can never be sent as it is. Nothing has left."
	case intents.ReasonFunds:
		return "The account could not cover it."
	case intents.ReasonDeclined:
		return "The other side declined it."
	case intents.ReasonReverted:
		return "It was executed without effect."
	case intents.ReasonOperator:
		return "A person decided."
	case intents.ReasonInSlot:
		return "Its slot was used for nothing, so that it cannot happen any more."
	case intents.ReasonOnce:
		return "A person let it be sent once more, whatever the recipient makes of it."
	}
	return string(in.Reason)
}

// knownOf is what is certain.
func knownOf(w intents.Watch) []string {
	in := w.Intent
	all := []string{}
	switch in.Stored {
	case 0:
		all = append(all, "No bytes were ever made for it: nothing that was written here can have paid.")
	case 1:
		all = append(all, "One attempt is stored. Its bytes may have left.")
	default:
		all = append(all, fmt.Sprintf("%d attempts are stored, all in one slot: at most one of them can take effect.", in.Stored))
	}
	if in.Calls > 0 {
		all = append(all, fmt.Sprintf("%s that may have put its bytes on the wire.", count(in.Calls, "call was made", "calls were made")))
	}
	if in.Slot.Kind != intents.NoSlot {
		all = append(all, "Its slot is "+in.Slot.String()+". No other intent can use it.")
	}
	if in.Held().Sign() > 0 {
		all = append(all, "Its money is held in account "+in.Account+", and nobody else can spend it meanwhile.")
	}
	if in.Ref != "" {
		all = append(all, "The other side calls it "+in.Ref+".")
	}
	if in.Stored > 0 && in.State == intents.NeedsReview {
		all = append(all, again(in))
	}
	return all
}

func again(in intents.Intent) string {
	if in.Safe(in.ReadAt) == nil {
		return "The recipient knows the same bytes again: sending them once more pays once."
	}
	return "The recipient may take the same bytes for another payment: sending them once more may pay twice."
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// unknownOf is what nobody here can know.
func unknownOf(in intents.Intent) []string {
	if in.State == intents.Failed {
		return []string{"Whether it happened all the same. Settling it takes a reference that the other side confirms."}
	}
	all := []string{"Whether the payment happened."}
	if !in.Seen {
		all = append(all, "What the recipient has: nothing here watches it. Ask the recipient, by the attempt's name.")
	}
	return all
}

// knownShort is the same in a few words, for the list.
func knownShort(in intents.Intent) string {
	switch {
	case in.Stored == 0:
		return "nothing was made to be sent"
	case in.Safe(in.ReadAt) == nil:
		return count(in.Stored, "attempt", "attempts") + ", safe to send again"
	}
	return count(in.Stored, "attempt", "attempts") + ", sending again may pay twice"
}

// factWords is what the other side's answer proves.
func factWords(o intents.Observation) string {
	switch o.Fact {
	case intents.Pending:
		return "It has it, and has not done it yet. Wait."
	case intents.Included:
		return "It happened, but is not beyond recall yet. Wait."
	case intents.Final:
		return "It happened, beyond recall. Whatever you decide, this is asked again first and settles the intent."
	case intents.Reverted:
		return "It was executed beyond recall, without effect: nothing was paid."
	case intents.Dead:
		return "It can never happen any more."
	case intents.NotSeen:
	}
	if o.Gone {
		return "Its slot was used, and nobody can tell by what."
	}
	return "It does not show it. That proves nothing: it may still come."
}

// deedTitle is a decision in the person's words.
func deedTitle(in intents.Intent, d desk.Deed) string {
	switch d {
	case desk.Settle:
		if in.State == intents.Failed {
			return "It happened after all"
		}
		return "It happened"
	case desk.Fail:
		return "It did not happen and cannot"
	case desk.Retry:
		return "Send it again"
	case desk.Drop:
		return "Use its slot for nothing"
	}
	return string(d)
}

// deedWill is what comes of a decision.
func deedWill(in intents.Intent, d desk.Deed) string {
	switch d {
	case desk.Settle:
		return "The intent is settled, for good: its money is taken out of account " + in.Account + ", and nothing more is sent. Your reference is looked up first."
	case desk.Fail:
		return "The intent fails, for good: its money is free again in account " + in.Account + ", and nothing more is sent. If it did happen, it was paid for nothing."
	case desk.Retry:
		if in.Stored == 0 {
			return "A worker makes and sends it, once, when the throttle lets it. Its money stays held."
		}
		return "The same bytes go out once more in the same slot, when the throttle lets them; the other side is asked first. Its money stays held. Where the slot is used up it takes a new one."
	case desk.Drop:
		return "An empty transaction is sent in the same slot. Whichever of the two comes first wins: then the payment has happened, or it never can, and the intent ends by itself."
	}
	return ""
}

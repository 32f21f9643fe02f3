package intents

import (
	"encoding/json"
	"time"
)

// View is an intent as programs read it in JSON. Empty fields are left out; states and reasons are the words of the
// database's comments and the docs; times are UTC.
type View struct {
	ID          string            `json:"id"`
	Route       string            `json:"route,omitempty"`
	Account     string            `json:"account,omitempty"`
	Destination string            `json:"destination,omitempty"`
	Asset       string            `json:"asset,omitempty"`
	Amount      Amount            `json:"amount,omitzero"` // a string of digits, in the smallest unit; of a tombstone none
	NotBefore   time.Time         `json:"not_before,omitzero"`
	ExpiresAt   time.Time         `json:"expires_at,omitzero"`
	Lane        string            `json:"lane,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	State       string            `json:"state"`
	Version     int               `json:"version"`
	Ref         string            `json:"ref,omitempty"`
	Reason      Reason            `json:"reason,omitempty"`
	CreatedAt   time.Time         `json:"created_at,omitzero"`
	ChangedAt   time.Time         `json:"changed_at,omitzero"`
	DueAt       time.Time         `json:"due_at,omitzero"`
	PrunedAt    time.Time         `json:"pruned_at,omitzero"` // only its tombstone is left
	Slot        string            `json:"slot,omitempty"`     // scope and number or name; see [Slot.String]
	Attempts    int               `json:"attempts,omitempty"` // stored in the slot
}

// JSON gives the view of an intent. It shares the intent's metadata.
func JSON(in Intent) View {
	v := View{
		ID: in.ID, Route: in.Route, Account: in.Account, Destination: in.Destination, Asset: in.Asset, Amount: in.Amount,
		NotBefore: in.NotBefore.UTC(), ExpiresAt: in.ExpiresAt.UTC(), Lane: in.Lane, Metadata: in.Metadata,
		State: in.State.String(), Version: in.Version, Ref: in.Ref, Reason: in.Reason,
		CreatedAt: in.CreatedAt.UTC(), ChangedAt: in.ChangedAt.UTC(), DueAt: in.DueAt.UTC(), PrunedAt: in.PrunedAt.UTC(), Attempts: in.Stored,
	}
	if in.Slot.Kind != NoSlot {
		v.Slot = in.Slot.String()
	}
	return v
}

// EventView is one line of a timeline as programs read it in JSON. Empty fields are left out.
type EventView struct {
	Version int             `json:"version"`
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"`
	From    string          `json:"from,omitempty"` // none: it was not stored yet
	To      string          `json:"to,omitempty"`
	Actor   string          `json:"actor,omitempty"`
	Reason  Reason          `json:"reason,omitempty"`
	ClaimID string          `json:"claim_id,omitempty"`
	Ref     string          `json:"ref,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"` // evidence; a JSON string where it is not JSON itself
}

// EventJSON gives the view of an event.
func EventJSON(e Event) EventView {
	return EventView{
		Version: e.Version, At: e.At.UTC(), Kind: e.Kind.String(), From: word(e.From), To: word(e.To),
		Actor: e.Actor, Reason: e.Reason, ClaimID: e.ClaimID, Ref: e.Ref, Detail: rawJSON(e.Detail),
	}
}

func word(s State) string {
	if s == 0 {
		return ""
	}
	return s.String()
}

// rawJSON keeps evidence that is not JSON from spoiling the whole output.
func rawJSON(detail []byte) json.RawMessage {
	if len(detail) == 0 || json.Valid(detail) {
		return detail
	}
	quoted, _ := json.Marshal(string(detail)) // a string always marshals
	return quoted
}

package intents

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
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

// AttemptView is an attempt as programs read it in JSON. Its bytes are counted, not shown: whoever has them can send them.
type AttemptView struct {
	No     int    `json:"no"`
	Kind   string `json:"kind"`
	Slot   string `json:"slot"`
	Name   string `json:"name,omitempty"`
	Size   int    `json:"size"` // bytes
	Expiry string `json:"expiry,omitempty"`
}

// AttemptJSON gives the view of an attempt.
func AttemptJSON(a Attempt) AttemptView {
	v := AttemptView{No: a.No, Kind: a.Kind.String(), Slot: a.Slot.String(), Name: a.Name, Size: len(a.Bytes)}
	switch a.Expiry.Kind {
	case Height:
		v.Expiry = "height " + strconv.FormatInt(a.Expiry.At, 10)
	case Epoch:
		v.Expiry = "epoch " + strconv.FormatInt(a.Expiry.At, 10)
	case Time:
		v.Expiry = time.Unix(a.Expiry.At, 0).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return v
}

// LetterView is a dead letter as programs read it in JSON.
type LetterView struct {
	Hash    string    `json:"hash"` // SHA-256 of the whole body
	Topic   string    `json:"topic"`
	Route   string    `json:"route"`
	Reason  string    `json:"reason"`
	Detail  string    `json:"detail"`
	Count   int       `json:"count"`
	Size    int       `json:"size"`
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
	Body    string    `json:"body,omitempty"` // as far as it is kept; what is no UTF-8 is replaced
}

// LetterJSON gives the view of a dead letter, with or without its body.
func LetterJSON(l BuriedLetter, body bool) LetterView {
	v := LetterView{hex.EncodeToString(l.Hash[:]), l.Topic, l.Route, l.Reason, l.Detail, l.Count, l.Size, l.FirstAt, l.LastAt, ""}
	if body {
		v.Body = strings.ToValidUTF8(string(l.Body), "\uFFFD")
	}
	return v
}

package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nsqrelayer/relayer/intents"
)

// The headers that are stored with the bytes.
const (
	headerKey       = "Idempotency-Key"
	headerSignature = "Relayer-Signature"
)

// payment is the body of the call.
type payment struct {
	ID          string            `json:"id"`
	Account     string            `json:"account"`
	Destination string            `json:"destination"`
	Asset       string            `json:"asset"`
	Amount      intents.Amount    `json:"amount"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// message is what an attempt's bytes hold: all of the call that a retry must repeat, byte for byte. To is the host name
// it was made for; it is sent to no other.
type message struct {
	V       int               `json:"v"`
	To      string            `json:"to"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// Prepare makes the call's body, key and signature. A slot takes one attempt, the first; where bytes are stored already
// they are the answer. It returns a *intents.RefusedError for any other kind.
func (s *Sender) Prepare(_ context.Context, in intents.Intent, slot intents.Slot, kind intents.Kind, prior []intents.Attempt) (intents.Attempt, error) {
	if kind != intents.First {
		return intents.Attempt{}, &intents.RefusedError{Why: "a webhook's key takes one attempt, not a " + kind.String()}
	}
	if len(prior) > 0 {
		return prior[0], nil
	}
	body, err := json.Marshal(payment{in.ID, in.Account, in.Destination, in.Asset, in.Amount, in.Metadata})
	if err != nil {
		return intents.Attempt{}, fmt.Errorf("encode payment: %w", err)
	}
	m := message{V: 1, To: s.scope, Body: string(body), Headers: map[string]string{"Content-Type": "application/json", headerKey: in.ID}}
	if s.cfg.Secret != "" {
		m.Headers[headerSignature] = sign(s.cfg.Secret, s.cfg.Clock().Unix(), body)
	}
	bytes, err := json.Marshal(m)
	if err != nil {
		return intents.Attempt{}, fmt.Errorf("encode attempt: %w", err)
	}
	slot.Name = in.ID
	return intents.Attempt{Slot: slot, No: 1, Kind: intents.First, Bytes: bytes, Name: in.ID}, nil
}

// sign gives the signature header: "t=1700000000,v1=hex". v1 is the HMAC-SHA256 of "t.body", t in Unix seconds. It is
// made once: a provider that checks t has to bear the age of a retry.
func sign(secret string, unix int64, body []byte) string {
	t := strconv.FormatInt(unix, 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

func openMessage(b []byte) (message, error) {
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("stored bytes: %w", err)
	}
	if m.V != 1 || m.Headers[headerKey] == "" {
		return m, fmt.Errorf("stored bytes: version %d or key unknown", m.V)
	}
	return m, nil
}

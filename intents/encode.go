package intents

import (
	"bytes"
	"encoding/json"
)

// fullBody is a full intent as it is written, in this order.
type fullBody struct {
	V           int               `json:"v"`
	ID          string            `json:"id"`
	Account     string            `json:"account"`
	Destination string            `json:"destination"`
	Asset       string            `json:"asset"`
	Amount      Amount            `json:"amount"`
	NotBefore   string            `json:"not_before,omitempty"`
	ExpiresAt   string            `json:"expires_at,omitempty"`
	Lane        string            `json:"lane,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Traceparent string            `json:"traceparent,omitempty"`
}

// Encode writes a full message body: what is asked, in a fixed order, without Route, which the topic tells. Times are
// cut to the microsecond. [Decode] reads it back as the same content; it is never longer than [MaxBody].
// Errors: as [Intent.Validate].
func Encode(in Intent) ([]byte, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(fullBody{
		V: 1, ID: in.ID, Account: in.Account, Destination: in.Destination, Asset: in.Asset, Amount: in.Amount,
		NotBefore: stamp(in.NotBefore), ExpiresAt: stamp(in.ExpiresAt), Lane: in.Lane,
		Metadata: in.Metadata, Traceparent: in.Traceparent,
	})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// EncodeReference writes the body of a reference to an intent. Errors: *InvalidError for what cannot be an id.
func EncodeReference(id string) ([]byte, error) {
	if err := checkName("intent_id", id); err != nil {
		return nil, err
	}
	return []byte(referenceHead + id + referenceTail), nil
}

package intents

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// MaxBody is the longest message body that is looked at, in bytes. The longest valid body is shorter.
const MaxBody = 64 << 10

// The body of a reference as [EncodeReference] writes it, around the id.
const (
	referenceHead = `{"v":1,"intent_id":"`
	referenceTail = `"}`
)

// TooLongError says that a message body is longer than [MaxBody]. It was not looked at.
type TooLongError struct{ Size, Most int } // bytes

func (e *TooLongError) Error() string {
	return fmt.Sprintf("message body has %d bytes, at most %d are read", e.Size, e.Most)
}

// Decode reads a message body: a reference
//
//	{"v":1,"intent_id":"pi_0001"}
//
// or a full intent
//
//	{"v":1,"id":"pi_0001","account":"acct_1","destination":"0x…","asset":"ETH","amount":"1000000000000000000",
//	 "not_before":"2026-01-02T03:04:05Z","expires_at":…,"lane":…,"metadata":{"order":"7"},"traceparent":…}
//
// where the second line may be left out. Every value but v and metadata is a string; amounts and times are never JSON
// numbers, which other programs round or count in another unit. Names are compared byte by byte. Unknown and repeated
// names, null, a byte order mark and anything but JSON's white space around the object are refused. Of each field
// [Intent.Validate] has the rules; times are cut to the microsecond. Route and Actor are left for the caller.
//
// Errors: *TooLongError; *NewerError when v is above 1, whatever else the object holds; else one *InvalidError, or
// several joined.
func Decode(body []byte) (Message, error) {
	if len(body) > MaxBody {
		return Message{}, &TooLongError{Size: len(body), Most: MaxBody}
	}
	if id, ok := plainReference(body); ok {
		return Message{ID: id}, nil
	}
	return decodeObject(body)
}

// plainReference reads the one spelling of a reference that nearly all have. Whatever it accepts, decodeObject accepts
// as the same message: an id of the right form stands in JSON as it is.
func plainReference(body []byte) (string, bool) {
	id, head := bytes.CutPrefix(body, []byte(referenceHead))
	id, tail := bytes.CutSuffix(id, []byte(referenceTail))
	if !head || !tail || len(id) > maxName {
		return "", false
	}
	s := string(id)
	return s, isName(s, maxName)
}

func decodeObject(body []byte) (Message, error) {
	if !utf8.Valid(body) {
		return Message{}, &InvalidError{Field: "body", Value: string(body), Want: "UTF-8"}
	}
	obj, err := readObject(body)
	if err != nil {
		return Message{}, err
	}
	if err := checkVersion(obj); err != nil {
		return Message{}, err
	}
	if obj.has("intent_id") {
		return reference(obj)
	}
	return fullIntent(obj)
}

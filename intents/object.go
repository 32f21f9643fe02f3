package intents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds on any JSON object, of later versions too.
const (
	maxDepth   = 32 // objects and arrays within each other
	maxMembers = 64 // names in one object
)

// object is a JSON object as it was written: each name once, in their order. encoding/json by itself takes the last of
// repeated names and matches names in any letter case.
type object []member

// member is one name with its value: string, json.Number, bool, nil, object or array.
type member struct {
	name  string
	value any
}

// array stands for a JSON array. No field is one.
type array struct{}

func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o object) has(name string) bool {
	for _, m := range o {
		if m.name == name {
			return true
		}
	}
	return false
}

// readObject reads a body that is one JSON object and nothing else. Errors: *InvalidError.
func readObject(body []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	v, err := readValue(dec, 0)
	if err != nil {
		return nil, badJSON(body, err)
	}
	obj, ok := v.(object)
	if !ok {
		return nil, &InvalidError{Field: "body", Value: string(body), Want: "a JSON object, not " + kindOf(v)}
	}
	end := dec.InputOffset()
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &InvalidError{Field: "body", Value: string(body[end:]), Want: "nothing after the object (trailing data)"}
	}
	return obj, nil
}

func badJSON(body []byte, err error) error {
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		return invalid
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &InvalidError{Field: "body", Value: string(body), Want: fmt.Sprintf("valid JSON (%v)", err)}
}

// readValue reads the next value, depth levels down.
func readValue(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	switch {
	case !ok:
		return t, nil
	case depth == maxDepth:
		return nil, &InvalidError{Field: "body", Value: delim.String(), Want: fmt.Sprintf("at most %d levels of objects and arrays", maxDepth)}
	case delim == '{':
		return readMembers(dec, depth+1)
	}
	return readElements(dec, depth+1)
}

// readMembers reads an object after its opening brace.
func readMembers(dec *json.Decoder, depth int) (any, error) {
	var obj object
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // the decoder takes nothing else for a name
		switch {
		case obj.has(name):
			return nil, &InvalidError{Field: "body", Value: name, Want: "every name once (repeated)"}
		case len(obj) == maxMembers:
			return nil, &InvalidError{Field: "body", Value: name, Want: fmt.Sprintf("at most %d names in an object", maxMembers)}
		}
		v, err := readValue(dec, depth)
		if err != nil {
			return nil, err
		}
		obj = append(obj, member{name, v})
	}
	_, err := dec.Token()
	return obj, err
}

// readElements reads over an array after its opening bracket.
func readElements(dec *json.Decoder, depth int) (any, error) {
	for dec.More() {
		if _, err := readValue(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return array{}, err
}

// kindOf names a JSON value's kind for an error.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case object:
		return "an object"
	}
	return "an array"
}

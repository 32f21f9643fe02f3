package intents

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// checkVersion looks at v before anything else, so that what a newer version added does not make a body invalid.
func checkVersion(obj object) error {
	n, ok := obj.get("v").(json.Number)
	v, err := strconv.Atoi(n.String())
	switch {
	case ok && err == nil && v > 1:
		return &NewerError{Version: v}
	case !obj.has("v"):
		return missing("v")
	case !ok:
		return &InvalidError{Field: "v", Want: "the number 1, not " + kindOf(obj.get("v"))}
	case err != nil || v != 1:
		return &InvalidError{Field: "v", Value: n.String(), Want: "the number 1"}
	}
	return nil
}

func reference(obj object) (Message, error) {
	var m Message
	var errs []error
	for _, f := range obj {
		switch f.name {
		case "v":
		case "intent_id":
			var err error
			if m.ID, err = text(f); err == nil {
				err = checkName("intent_id", m.ID)
			}
			errs = append(errs, err)
		default:
			errs = append(errs, &InvalidError{Field: "body", Value: f.name, Want: "only v and intent_id in a reference"})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Message{}, err
	}
	return m, nil
}

func fullIntent(obj object) (Message, error) {
	var in Intent
	var errs []error
	for _, f := range obj {
		errs = append(errs, setField(&in, f))
	}
	for _, name := range []string{"id", "account", "destination", "asset", "amount"} {
		if !obj.has(name) {
			errs = append(errs, missing(name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Message{}, err
	}
	if err := in.Validate(); err != nil {
		return Message{}, err
	}
	return Message{ID: in.ID, Full: true, Intent: in}, nil
}

// setField reads one field's JSON form; what its value may be is for Validate to say.
func setField(in *Intent, f member) (err error) {
	switch f.name {
	case "v":
	case "id":
		in.ID, err = text(f)
	case "account":
		in.Account, err = text(f)
	case "destination":
		in.Destination, err = text(f)
	case "asset":
		in.Asset, err = text(f)
	case "amount":
		in.Amount, err = amount(f)
	case "not_before":
		in.NotBefore, err = moment(f)
	case "expires_at":
		in.ExpiresAt, err = moment(f)
	case "lane":
		in.Lane, err = text(f)
	case "metadata":
		in.Metadata, err = texts(f)
	case "traceparent":
		in.Traceparent, err = text(f)
	default:
		err = &InvalidError{Field: "body", Value: f.name, Want: "only the fields of an intent (unknown)"}
	}
	return err
}

func missing(name string) error {
	return &InvalidError{Field: name, Want: "a value (missing)"}
}

// text reads a string. An empty one is no way to leave a field out.
func text(f member) (string, error) {
	s, ok := f.value.(string)
	switch {
	case !ok:
		return "", &InvalidError{Field: f.name, Want: "a string, not " + kindOf(f.value)}
	case s == "":
		return "", &InvalidError{Field: f.name, Want: "a string that is not empty"}
	}
	return s, nil
}

func amount(f member) (Amount, error) {
	s, err := text(f)
	if err != nil {
		return Amount{}, err
	}
	return ParseAmount(s)
}

// moment reads a time, to the microsecond.
func moment(f member) (time.Time, error) {
	s, err := text(f)
	if err != nil {
		return time.Time{}, err
	}
	t, ok := parseTime(s)
	if !ok || !inWindow(t) {
		return time.Time{}, &InvalidError{Field: f.name, Value: s, Want: wantTime}
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

// parseTime reads RFC 3339. time.Parse also takes hours of one digit, a comma before the fraction, and offsets of 24
// hours or 60 minutes (go.dev/issue/54580).
func parseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || s[len("2006-01-02T15")] != ':' || strings.Contains(s, ",") {
		return time.Time{}, false
	}
	zone := s[len(s)-len("07:00"):]
	return t, strings.HasSuffix(s, "Z") || zone[:2] < "24" && zone[3:] < "60"
}

// texts reads an object of strings. An empty one is none.
func texts(f member) (map[string]string, error) {
	obj, ok := f.value.(object)
	switch {
	case !ok:
		return nil, &InvalidError{Field: f.name, Want: "an object of strings, not " + kindOf(f.value)}
	case len(obj) == 0:
		return nil, nil
	}
	all := make(map[string]string, len(obj))
	for _, m := range obj {
		s, ok := m.value.(string)
		if !ok {
			return nil, &InvalidError{Field: f.name, Value: m.name, Want: "a string as its value, not " + kindOf(m.value)}
		}
		all[m.name] = s
	}
	return all, nil
}

package config

import (
	"encoding"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// leaf is one setting: its path and the place its value has in a Config.
type leaf struct {
	path  string
	value reflect.Value
}

// leaves yields every setting, those of known routes included.
func (c *Config) leaves() iter.Seq[leaf] {
	return func(yield func(leaf) bool) { walk("", reflect.ValueOf(c).Elem(), yield) }
}

func (c *Config) leaf(path string) (leaf, bool) {
	for l := range c.leaves() {
		if l.path == path {
			return l, true
		}
	}
	return leaf{}, false
}

// walk says whether to go on.
func walk(prefix string, v reflect.Value, yield func(leaf) bool) bool {
	for field, value := range v.Fields() {
		name, option, tagged := strings.Cut(field.Tag.Get("toml"), ",")
		path := join(prefix, name)
		var more bool
		switch {
		case name == "" && !tagged:
			continue // not a setting
		case option == "inline":
			more = walk(prefix, value, yield)
		case value.Kind() == reflect.Map && !isScalar(value):
			more = walkMap(path, value, yield)
		case value.Kind() == reflect.Struct && !isScalar(value):
			more = walk(path, value, yield)
		default:
			more = yield(leaf{path, value})
		}
		if !more {
			return false
		}
	}
	return true
}

func walkMap(path string, m reflect.Value, yield func(leaf) bool) bool {
	routes := m.Interface().(map[string]*Route)
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		if !walk(join(path, name), reflect.ValueOf(routes[name]).Elem(), yield) {
			return false
		}
	}
	return true
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

func isScalar(v reflect.Value) bool {
	_, text := v.Addr().Interface().(encoding.TextUnmarshaler)
	return leaf{value: v}.isSecret() || text
}

// isSecret says whether nobody may see the setting.
func (l leaf) isSecret() bool {
	switch l.value.Interface().(type) {
	case Secret, Endpoints:
		return true
	}
	return false
}

// reveal gives a secret its value.
func (l leaf) reveal(text string) {
	switch p := l.value.Addr().Interface().(type) {
	case *Secret:
		*p = NewSecret(text)
	case *Endpoints:
		*p = parseEndpoints(text)
	}
}

// set gives the setting a value as TOML has it, or as text. Errors: *intents.InvalidError.
func (l leaf) set(raw any) error {
	if list, ok := l.value.Addr().Interface().(*[]string); ok {
		return l.setList(list, raw)
	}
	text, isText := raw.(string)
	switch p := l.value.Addr().Interface().(type) {
	case *Secret:
		l.reveal(text)
		return l.check(isText, raw, "a string")
	case *Endpoints:
		return l.setEndpoints(raw)
	case *string:
		*p = text
		return l.check(isText, raw, "a string")
	case *time.Duration:
		d, err := time.ParseDuration(text)
		*p = d
		return l.check(isText && err == nil && d > 0, raw, `a time above zero, like "60s"`)
	case encoding.TextUnmarshaler:
		return l.check(p.UnmarshalText(fmt.Append(nil, raw)) == nil, raw, l.value.Interface().(interface{ want() string }).want())
	}
	return l.setNumber(raw)
}

func (l leaf) setNumber(raw any) error {
	text := fmt.Sprint(raw)
	switch p := l.value.Addr().Interface().(type) {
	case *bool:
		b, err := strconv.ParseBool(text)
		*p = b
		return l.check(err == nil, raw, "true or false")
	case *int:
		n, err := strconv.Atoi(text)
		*p = n
		return l.check(err == nil && n > 0, raw, "a whole number, at least 1")
	case *uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		*p = n
		return l.check(err == nil && n > 0, raw, "a whole number, at least 1")
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		*p = f
		return l.check(err == nil, raw, "a number")
	}
	return fmt.Errorf("%s: no way to set a %s", l.path, l.value.Type())
}

// setList reads a list of strings; as text they stand between commas.
func (l leaf) setList(list *[]string, raw any) error {
	const want = "a list of strings"
	var all []string
	switch r := raw.(type) {
	case string:
		for s := range strings.SplitSeq(r, ",") {
			all = append(all, strings.TrimSpace(s))
		}
	case []any:
		for _, e := range r {
			s, ok := e.(string)
			if !ok {
				return l.check(false, e, want)
			}
			all = append(all, s)
		}
	default:
		return l.check(false, raw, want)
	}
	*list = all
	return l.check(!slices.Contains(all, ""), raw, want+" that are not empty")
}

// setEndpoints reads a list of URLs.
func (l leaf) setEndpoints(raw any) error {
	text, isText := raw.(string)
	list, isList := raw.([]any)
	for _, e := range list {
		s, ok := e.(string)
		text, isList = text+"\n"+s, isList && ok
	}
	l.reveal(text)
	return l.check(isText || isList, raw, endpointsWant)
}

func (l leaf) check(ok bool, raw any, want string) error {
	if ok {
		return nil
	}
	value := fmt.Sprint(raw)
	if l.isSecret() {
		value = hidden
	}
	return &intents.InvalidError{Field: l.path, Value: value, Want: want}
}

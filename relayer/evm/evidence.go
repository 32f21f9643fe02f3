package evm

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// text shows an error without URL and secrets.
func (s *Sender) text(err error) string {
	if err == nil {
		return ""
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return s.plain(err.Error())
}

// maxSnippet is how many bytes of an answer or error are kept.
const maxSnippet = 512

func (s *Sender) plain(t string) string { return plain(s.scrub, t) }

// plain takes out secrets, cuts, and replaces what a jsonb column refuses or a terminal obeys.
func plain(scrub *strings.Replacer, t string) string {
	t = scrub.Replace(t)
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return '.'
		}
		return r
	}, t[:min(len(t), maxSnippet)])
}

// newScrubber knows what URLs keep secret: user info, path and query. A value of a few bytes would blot out innocent
// text and is left.
func newScrubber(urls ...*url.URL) *strings.Replacer {
	var secrets []string
	for _, u := range urls {
		secrets = append(secrets, strings.Split(u.Path, "/")...)
		secrets = append(secrets, u.RawQuery)
		for _, vs := range u.Query() {
			secrets = append(secrets, vs...)
		}
		if pw, ok := u.User.Password(); ok {
			secrets = append(secrets, pw)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= 6 {
			pairs = append(pairs, secret, "[hidden]")
		}
	}
	return strings.NewReplacer(pairs...)
}

// evidence is what is kept of one call of a send.
type evidence struct {
	Call     string `json:"call"`
	Status   int    `json:"status,omitempty"`
	Answer   string `json:"answer,omitempty"` // the start of it
	Error    string `json:"error,omitempty"`
	Note     string `json:"note,omitempty"`
	Wrote    bool   `json:"wrote"`
	Answered bool   `json:"answered"`
	Millis   int64  `json:"ms"`
}

func (s *Sender) evidence(a answer, note string) evidence {
	return evidence{"eth_sendRawTransaction " + a.host, a.status, s.plain(string(a.body)), s.text(a.err), note, a.wrote, a.answered, a.took.Milliseconds()}
}

// encode gives one call as it is, several as a list.
func encode(es []evidence) []byte {
	var v any = map[string][]evidence{"calls": es}
	if len(es) == 1 {
		v = es[0]
	}
	b, err := json.Marshal(v)
	if err != nil { // cannot be: strings, numbers and flags
		return nil
	}
	return b
}

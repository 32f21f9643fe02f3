package webhook

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// evidence is what is kept of a call. It holds no header, and of URLs the host alone.
type evidence struct {
	Call     string `json:"call"`
	Status   int    `json:"status,omitempty"`
	Location string `json:"location,omitempty"`
	Answer   string `json:"answer,omitempty"` // the start of it
	Error    string `json:"error,omitempty"`
	Note     string `json:"note,omitempty"`
	Wrote    bool   `json:"wrote"`
	Answered bool   `json:"answered"`
	Millis   int64  `json:"ms"`
}

// maxSnippet is how many bytes of an answer are kept, and of an error.
const maxSnippet = 512

func (s *Sender) evidence(a answer, note string) []byte {
	e := evidence{
		Call: a.method + " " + a.host, Status: a.status, Location: plain(a.location, maxSnippet),
		Answer: plain(s.scrub.text(string(a.body)), maxSnippet), Error: plain(s.scrub.err(a.err), maxSnippet), Note: note,
		Wrote: a.wrote, Answered: a.answered, Millis: a.took.Milliseconds(),
	}
	b, err := json.Marshal(e)
	if err != nil { // cannot be: strings, numbers and flags
		return nil
	}
	return b
}

// scrubber takes what is secret out of text that came from outside.
type scrubber struct{ r *strings.Replacer }

// newScrubber knows the secrets of a configuration: header values, the signing secret, and paths and queries of URLs.
// A value of a few bytes would blot out innocent text and is left.
func newScrubber(cfg Config) *scrubber {
	secrets := []string{cfg.Secret}
	for _, v := range cfg.Headers {
		secrets = append(secrets, v)
		secrets = append(secrets, strings.Fields(v)...) // "Bearer x": x alone too
	}
	for _, raw := range []string{cfg.URL, cfg.Lookup} {
		secrets = append(secrets, urlSecrets(raw)...)
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 6 })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // the longest first: a part of it may stand alone
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, "[hidden]")
	}
	return &scrubber{strings.NewReplacer(pairs...)}
}

func urlSecrets(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	secrets := append(strings.Split(u.Path, "/"), u.RawQuery)
	for _, vs := range u.Query() {
		secrets = append(secrets, vs...)
	}
	return secrets
}

func (s *scrubber) text(t string) string { return s.r.Replace(t) }

// err shows an error without the URL that net/http puts around it.
func (s *scrubber) err(err error) string {
	if err == nil {
		return ""
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return s.text(err.Error())
}

// plain cuts text to most bytes and takes out what a jsonb or text column refuses or a terminal obeys.
func plain(s string, most int) string {
	s = s[:min(len(s), most)]
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return '.'
		}
		return r
	}, s)
}

package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// words are what templates say things with.
func words(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"ago":   func(t time.Time) string { return agoAt(t, now()) },
		"stamp": stamp, "iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"state": stateWords, "mark": stateMark, "reason": reasonWords, "pretty": pretty, "text": printable,
		"hash": hashOf, "short": func(s string) string { return s[:min(len(s), 12)] },
		"eventWhy": eventWhy, "step": step, "expiry": expiry, "known": knownShort, "number": number, "add": func(a, b int) int { return a + b },
		"states": intents.States,
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// agoAt is how long before, or after, now a moment is, in one unit.
func agoAt(t, now time.Time) string {
	d := now.Sub(t)
	form := "%s ago"
	if d < 0 {
		d, form = -d, "in %s"
	}
	unit := func(n time.Duration, word string) string {
		if n != 1 {
			word += "s"
		}
		return fmt.Sprintf(form, fmt.Sprintf("%d %s", n, word))
	}
	switch {
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return unit(d/time.Second, "second")
	case d < time.Hour:
		return unit(d/time.Minute, "minute")
	case d < 48*time.Hour:
		return unit(d/time.Hour, "hour")
	}
	return unit(d/(24*time.Hour), "day")
}

func stateWords(s intents.State) string {
	switch s {
	case 0:
		return "nothing"
	case intents.NeedsReview:
		return "needs review"
	}
	return s.String()
}

// stateMark is beside the word, so that nobody needs the colour.
func stateMark(s intents.State) string {
	switch s {
	case intents.Settled:
		return "✓"
	case intents.Failed:
		return "✗"
	case intents.Canceled:
		return "–"
	case intents.NeedsReview:
		return "!"
	case intents.Settling, intents.Confirming:
		return "…"
	}
	return "○"
}

// pretty shows JSON on several lines, anything else as it is.
func pretty(b []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") == nil {
		return out.String()
	}
	return printable(b)
}

// printable shows bytes of strangers.
func printable(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// number groups digits by thousands.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// step is what an event did.
func step(e intents.Event) string {
	switch {
	case e.Kind != intents.Changed:
		return e.Kind.String()
	case e.From == 0 || e.From == e.To:
		return stateWords(e.To)
	}
	return stateWords(e.From) + " → " + stateWords(e.To)
}

// eventWhy is what a person said, where the event is a person's.
func eventWhy(e intents.Event) string {
	var said struct{ Why, Note string }
	if json.Unmarshal(e.Detail, &said) != nil {
		return ""
	}
	return said.Why + said.Note
}

func expiry(x intents.Expiry) string {
	switch x.Kind {
	case intents.Height:
		return "at height " + number(x.At)
	case intents.Epoch:
		return "in epoch " + number(x.At)
	case intents.Time:
		return stamp(time.Unix(x.At, 0))
	}
	return "never"
}

var (
	errNoReason = errors.New("say why: it stays with your name")
	errUnseen   = errors.New("the chain has used nonces that were not given out here and not found there yet: look what they paid, or wait until they are deep enough, or tick the box to go on without")
)

// signerTrouble is what a person must know or do first.
func signerTrouble(err error) (string, bool) {
	if errors.Is(err, errNoReason) || errors.Is(err, errUnseen) || errors.Is(err, intents.ErrNoSigner) {
		return err.Error(), true
	}
	return "", false
}

// told is the notice about what was just done, by its word in the address. An unknown word says nothing.
func told(did string) *notice {
	text, ok := map[string][2]string{
		"settle":   {"Settled", "The hold was taken out of the account. Nothing more is sent."},
		"fail":     {"Failed", "The hold was given back. Nothing more is sent."},
		"retry":    {"On its way again", "A worker sends it when the throttle lets it."},
		"proof":    {"Nothing was left to decide", "The other side was asked first, and what it showed decided. The timeline tells."},
		"again":    {"That was done before", "This very decision was carried out already. Nothing was done twice."},
		"noted":    {"Noted", "It stands in the timeline."},
		"canceled": {"Called off", "It will not be sent."},
		"dropped":  {"The empty use of its slot is sent", "Whichever comes first wins. Within minutes of its being beyond recall the intent ends by itself; who decides then need not wait."},
		"known":    {"Not published: this intent is known already", "The message would have changed nothing."},
		"paused":   {"Paused", "Nothing of the route is claimed any more, in all processes. What was claimed before goes on."},
		"resumed":  {"Resumed", "What waited goes on."},
		"frozen":   {"Frozen", "The signer gives out no more nonces. What has one goes on."},
		"unfrozen": {"Unfrozen", "The signer gives out nonces again."},
	}[did]
	if !ok {
		return nil
	}
	more := did == "settle" || did == "fail" || did == "retry" || did == "proof" || did == "again" || did == "dropped"
	return &notice{Title: text[0], Text: text[1], More: more}
}

package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

func letterTests() []test {
	return []test{
		{"letters/kept once, counted (case 38)", lettersCount},
		{"letters/any bytes (case 11)", lettersBytes},
		{"letters/cut (case 16)", lettersCut},
		{"letters/found by the start of their hash", lettersFound},
	}
}

// letter makes a dead letter of the test's topic.
func (f *fixture) letter(body string) intents.DeadLetter {
	return intents.DeadLetter{Topic: f.tag + ".topic", Hash: sha256.Sum256([]byte(body)), Body: []byte(body), Size: len(body),
		Reason: intents.DeadInvalid, Detail: "no object", MessageID: "0a1b2c3d4e5f6071", Route: f.route}
}

// letters reads the test's dead letters.
func (f *fixture) letters() []intents.BuriedLetter {
	f.Helper()
	all, err := f.DeadLetters(f.ctx, 10_000)
	f.must(err)
	var mine []intents.BuriedLetter
	for _, b := range all {
		if b.Topic == f.tag+".topic" {
			mine = append(mine, b)
		}
	}
	return mine
}

func lettersCount(f *fixture) {
	for _, body := range []string{"one", "two", "two"} {
		f.must(f.Bury(f.ctx, f.letter(body)))
	}
	got := f.letters()
	other := f.letter("two")
	other.Reason = intents.DeadConflict
	f.must(f.Bury(f.ctx, other))
	if both := f.letters(); len(both) != 3 || both[0].Reason != intents.DeadConflict || both[0].Count != 1 {
		f.Fatalf("for another reason: got %+v, want a letter of its own", both)
	}
	if len(got) != 2 || string(got[0].Body) != "two" || got[0].Count != 2 || string(got[1].Body) != "one" || got[1].Count != 1 {
		f.Fatalf("got %+v, want two, newest first", got)
	}
	one := got[1]
	want := f.letter("one")
	if one.Hash != want.Hash || one.Size != 3 || one.Reason != want.Reason || one.Detail != want.Detail || one.MessageID != want.MessageID || one.Route != want.Route {
		f.Errorf("got %+v, want %+v", one, want)
	}
	if one.FirstAt.IsZero() || got[0].LastAt.Before(got[0].FirstAt) {
		f.Errorf("times: %v to %v", got[0].FirstAt, got[0].LastAt)
	}
	if few, err := f.DeadLetters(f.ctx, 1); err != nil || len(few) != 1 {
		f.Errorf("one at most: got %d, %v", len(few), err)
	}
}

// lettersBytes: what no text column can hold is just what dead letters are made of.
func lettersBytes(f *fixture) {
	d := f.letter("{\"id\":\"a\x00b\xff\"}")
	d.Detail, d.MessageID = "near \x00 and \xff", "\x00\xff"
	f.must(f.Bury(f.ctx, d))
	got := f.letters()
	if len(got) != 1 || !bytes.Equal(got[0].Body, d.Body) || got[0].Detail == "" {
		f.Errorf("got %+v", got)
	}
}

func lettersCut(f *fixture) {
	body := bytes.Repeat([]byte("x"), 1<<20)
	d := f.letter(string(body))
	d.Reason = intents.DeadTooLong
	f.must(f.Bury(f.ctx, d))
	got := f.letters()
	if len(got) != 1 || len(got[0].Body) != intents.MaxDeadBody || got[0].Size != 1<<20 || got[0].Hash != sha256.Sum256(body) {
		f.Errorf("got %d bytes of %d", len(got[0].Body), got[0].Size)
	}
}

func lettersFound(f *fixture) {
	one := f.letter(f.tag + "one")
	f.must(f.Bury(f.ctx, one))
	f.must(f.Bury(f.ctx, f.letter(f.tag+"two")))
	one.Reason = intents.DeadConflict
	f.must(f.Bury(f.ctx, one))
	hash := hex.EncodeToString(one.Hash[:])
	for start, want := range map[string]int{hash: 2, hash[:31]: 2, strings.ToUpper(hash[:32]): 2, hash + "0": 0, hash[:31] + "g": 0, "no hash": 0} {
		got, err := f.FindDeadLetters(f.ctx, start, 10)
		if err != nil || len(got) != want {
			f.Errorf("%q: got %d, %v, want %d", start, len(got), err, want)
		}
		if len(got) == 2 && (got[0].Hash != one.Hash || got[0].Reason != intents.DeadConflict) {
			f.Errorf("%q: got %+v, want the newest first", start, got)
		}
	}
	if got, err := f.FindDeadLetters(f.ctx, hash, 1); err != nil || len(got) != 1 {
		f.Errorf("one at most: got %d, %v", len(got), err)
	}
}

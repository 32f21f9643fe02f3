package storetest

import (
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func createTests() []test {
	return []test{
		{"create/created and authorized later", createThenAuthorize},
		{"create/again (case 38)", createAgain},
		{"create/expired before it was authorized", createExpired},
		{"authorize/what was sent", authorizeLate},
		{"authorize/unknown", authorizeUnknown},
		{"hash/the row gives the content that came", hashStored},
	}
}

func createThenAuthorize(f *fixture) {
	made, err := f.Create(f.ctx, f.intent(), false, "ann")
	f.must(err)
	f.stands(made, intents.Created, 1, "")
	if !made.DueAt.IsZero() {
		f.Errorf("without expiry nobody must look, due is %v", made.DueAt)
	}
	f.refused(f.keyed(made), intents.WhyMoved)
	for range 2 { // case 38: again changes nothing
		in, err := f.Authorize(f.ctx, made.ID, "bob")
		f.must(err)
		f.stands(in, intents.Authorized, 2, "")
	}
	events, err := f.Events(f.ctx, made.ID)
	f.must(err)
	if len(events) != 2 || events[0].Actor != "ann" || events[1].Actor != "bob" {
		f.Errorf("timeline: %+v", events)
	}
}

func createAgain(f *fixture) {
	asked := f.intent()
	first, err := f.Create(f.ctx, asked, true, "ann")
	f.must(err)
	f.stands(first, intents.Authorized, 2, "")
	again, err := f.Create(f.ctx, asked, false, "bob")
	f.must(err)
	f.same(first, again)
	if !first.CreatedAt.Equal(first.ReadAt) || !again.CreatedAt.Before(again.ReadAt) {
		f.Errorf("a new one is read when it is created, one that was known later: %v %v, %v %v", first.CreatedAt, first.ReadAt, again.CreatedAt, again.ReadAt)
	}
}

func createExpired(f *fixture) {
	made, err := f.Create(f.ctx, f.intent(func(in *intents.Intent) { in.ExpiresAt = time.Now().Add(-time.Hour) }), false, "ann")
	f.must(err)
	if !made.DueAt.Equal(made.ExpiresAt) {
		f.Errorf("due is %v, want the expiry %v", made.DueAt, made.ExpiresAt)
	}
	out, err := f.Sweep(f.ctx, f.route, 10)
	f.must(err)
	if len(out) != 0 {
		f.Errorf("an expired intent was published")
	}
	f.stands(f.get(made.ID), intents.Failed, 2, intents.ReasonExpired)
}

func authorizeLate(f *fixture) {
	in := f.taken()
	f.claim(f.keyed(in))
	_, err := f.Authorize(f.ctx, in.ID, "ann")
	no, ok := errors.AsType[*intents.TransitionError](err)
	if !ok || no.From != intents.Settling || no.To != intents.Authorized {
		f.Errorf("got %v, want a transition error", err)
	}
	f.stands(f.get(in.ID), intents.Settling, 3, "")
}

func authorizeUnknown(f *fixture) {
	if _, err := f.Authorize(f.ctx, f.name("pi"), "ann"); !errors.Is(err, intents.ErrNotFound) {
		f.Errorf("got %v, want ErrNotFound", err)
	}
}

func hashStored(f *fixture) {
	asked := f.intent(func(in *intents.Intent) { in.Metadata, in.Lane = map[string]string{"": "", "k": "v\tw"}, "lane 1" })
	made, err := f.Create(f.ctx, asked, true, "ann")
	f.must(err)
	if read := f.get(asked.ID); read.Hash() != asked.Hash() || made.Hash() != asked.Hash() {
		f.Errorf("the hash of what is read differs from the hash of what came")
	}
}

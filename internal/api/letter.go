package api

import (
	"context"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

type lettersInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" maxLength:"64" doc:"next of the page before"`
}

func (a *api) letters(ctx context.Context, in *lettersInput) (*body[page[intents.LetterView]], error) {
	var last intents.BuriedLetter
	if in.Cursor != "" {
		var at int64
		if _, err := fmt.Sscanf(in.Cursor, "%d-%d", &at, &last.Key); err != nil {
			return nil, badCursor(in.Cursor)
		}
		last.LastAt = time.UnixMicro(at)
	}
	all, err := a.cfg.Store.DeadLettersBefore(ctx, last, in.Limit+1)
	view := func(l intents.BuriedLetter) intents.LetterView { return intents.LetterJSON(l, false) }
	return paged(all, in.Limit, view, func(l intents.BuriedLetter) string { return fmt.Sprintf("%d-%d", l.LastAt.UnixMicro(), l.Key) }), err
}

// hashed is a request about one dead letter.
type hashed struct {
	Hash string `path:"hash" minLength:"6" maxLength:"64" pattern:"^[0-9a-fA-F]+$" doc:"The hash, or its first digits"`
}

func (a *api) letter(ctx context.Context, in *hashed) (*body[intents.LetterView], error) {
	l, err := desk.FindLetter(ctx, a.cfg.Store, in.Hash)
	return answer(intents.LetterJSON(l, true)), err
}

// replayed is what a replay came to.
type replayed struct {
	Published bool          `json:"published" doc:"false: its id is known already with the same content, and the message would change nothing"`
	ID        string        `json:"id,omitempty" doc:"The intent that it becomes, unless it is dead again"`
	Intent    *intents.View `json:"intent,omitempty" doc:"Where the id is known already"`
}

func (a *api) replay(ctx context.Context, in *hashed) (*body[replayed], error) {
	l, err := desk.FindLetter(ctx, a.cfg.Store, in.Hash)
	if err != nil {
		return nil, err
	}
	if a.cfg.Publisher == nil {
		return nil, fmt.Errorf("publish: %w: %w", intents.ErrUnavailable, errNoPublisher)
	}
	m, known, err := desk.Replay(ctx, a.cfg.Store, a.cfg.Publisher, a.cfg.Canon, l)
	if err != nil {
		return nil, err
	}
	r := replayed{Published: known.ID == "", ID: m.ID}
	if !r.Published {
		v := intents.JSON(known)
		r.Intent = &v
	}
	a.cfg.Logger.InfoContext(ctx, "dead letter replayed", "hash", in.Hash, "topic", l.Topic, "by", actorOf(ctx), "published", r.Published)
	return answer(r), nil
}

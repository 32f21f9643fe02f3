package desk

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// Noter writes into timelines.
type Noter interface {
	// Note adds a line. Errors: intents.ErrNotFound.
	Note(ctx context.Context, id, actor string, detail []byte) error
}

// AddNote adds a person's words to an intent's timeline; it moves nothing. Errors: *intents.InvalidError when they are
// empty; intents.ErrNotFound.
func AddNote(ctx context.Context, n Noter, id, actor, text string) error {
	if strings.TrimSpace(text) == "" {
		return &intents.InvalidError{Field: "note", Value: text, Want: "what there is to know, in words"}
	}
	detail, err := json.Marshal(map[string]string{"did": "review note", "note": text})
	if err != nil {
		return err
	}
	return n.Note(ctx, id, actor, detail)
}

package console

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// Letters is what could not become an intent.
type Letters interface {
	desk.Letters
	// DeadLetters reads dead letters, newest first, and how often each came.
	DeadLetters(ctx context.Context, most int) ([]intents.BuriedLetter, error)
	// Replay publishes one again, as desk.Replay does. Errors: those of desk.Replay.
	Replay(ctx context.Context, l intents.BuriedLetter) (m intents.Message, known intents.Intent, err error)
}

// mostLetters is how many dead letters a page shows.
const mostLetters = 200

type lettersView struct {
	Rows []intents.BuriedLetter
	Most int // there may be more than so many; 0: these are all
}

func (c *Console) letters(w http.ResponseWriter, r *http.Request, who Person) {
	all, err := c.cfg.Letters.DeadLetters(r.Context(), mostLetters)
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	v := lettersView{Rows: all}
	if len(all) == mostLetters {
		v.Most = mostLetters
	}
	c.seen(w, r, who, "letters", page{Title: "Dead letters", Body: v})
}

type letterView struct {
	Letter intents.BuriedLetter
	Cut    bool // its body is not kept as a whole
}

// letter shows one.
func (c *Console) letter(w http.ResponseWriter, r *http.Request, who Person) {
	if l, ok := c.letterOf(w, r, who); ok {
		c.seen(w, r, who, "letter", page{Title: "Dead letter " + hashOf(l)[:12], Body: viewLetter(l)})
	}
}

func viewLetter(l intents.BuriedLetter) letterView { return letterView{l, l.Size > len(l.Body)} }

func (c *Console) letterOf(w http.ResponseWriter, r *http.Request, who Person) (intents.BuriedLetter, bool) {
	l, err := desk.FindLetter(r.Context(), c.cfg.Letters, r.PathValue("hash"))
	if none, ok := errors.AsType[*desk.LetterError](err); ok {
		c.fail(w, r, who, http.StatusNotFound, "There is no such dead letter", none.Error())
		return l, false
	}
	if err != nil {
		c.broken(w, r, who, err)
	}
	return l, err == nil
}

// replay publishes one again, and says where to look at what becomes of it.
func (c *Console) replay(w http.ResponseWriter, r *http.Request, who Person) {
	l, ok := c.letterOf(w, r, who)
	if !ok {
		return
	}
	m, known, err := c.cfg.Letters.Replay(r.Context(), l)
	switch {
	case err != nil && !refusesLetter(err):
		c.broken(w, r, who, err)
	case err != nil:
		c.seenWith(w, r, who, http.StatusConflict, "letter", page{Title: "Dead letter " + hashOf(l)[:12], Body: viewLetter(l),
			Notice: &notice{Bad: true, Title: "Not published", Text: c.cfg.Redact(err.Error())}})
	case known.ID != "":
		http.Redirect(w, r, "/intents/"+url.PathEscape(known.ID)+"?did=known", http.StatusSeeOther)
	default:
		c.seen(w, r, who, "letter", page{Title: "Dead letter " + hashOf(l)[:12], Body: viewLetter(l),
			Notice: &notice{Title: "Published to " + l.Topic, Text: "It becomes the intent " + m.ID + " once a worker takes it. Is it dead again, its count below goes up."}})
	}
}

// refusesLetter says whether an error is about the dead letter itself.
func refusesLetter(err error) bool {
	_, cut := errors.AsType[*desk.CutError](err)
	_, bad := errors.AsType[*desk.BadLetterError](err)
	_, taken := errors.AsType[*desk.TakenError](err)
	return cut || bad || taken
}

func hashOf(l intents.BuriedLetter) string { return hex.EncodeToString(l.Hash[:]) }

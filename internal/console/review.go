package console

import (
	"context"
	"net/http"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// mostReviews is how many a page of the review list shows.
const mostReviews = 100

type reviewsView struct {
	Rows []intents.Intent
	Most int // there may be more than so many; 0: these are all
}

// reviews lists what waits for a person, longest first.
func (c *Console) reviews(w http.ResponseWriter, r *http.Request, who Person) {
	all, err := c.cfg.Reviews.Reviews(r.Context(), r.URL.Query().Get("route"), mostReviews)
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	v := reviewsView{Rows: all}
	if len(all) == mostReviews {
		v.Most = mostReviews
	}
	c.seen(w, r, who, "reviews", page{Title: "Review", Body: v})
}

// decideView is what is known, what is not, and what may be decided.
type decideView struct {
	Known, Unknown []string
	Now            nowView
	Cards          []card
}

// nowView is what the other side says.
type nowView struct {
	Can      bool // there is something to ask about
	Asked    bool
	Words    string
	Ref      string
	Evidence []byte
	Error    string
	Changes  bool // with this answer other decisions are possible than without
}

// card is a decision that may be taken, or why not.
type card struct {
	Do          desk.Deed
	Title, Will string
	Refused     string // why it may not be; empty: it may
	Twice       string // what must be known by who takes it all the same; empty: nothing
	Against     string // what the other side said against the reference that was given
	Form        formView
}

// formView is what a person wrote into a form.
type formView struct {
	Do          desk.Deed
	Reason, Ref string
	Against     string
}

func newDecide(w intents.Watch) *decideView {
	d := &decideView{Known: knownOf(w), Unknown: unknownOf(w.Intent), Now: nowView{Can: len(w.Attempts) > 0}}
	d.Cards = cards(w.Intent, intents.Observation{})
	return d
}

// see takes in what the other side said.
func (d *decideView) see(w intents.Watch, s sight) {
	d.Now = s.view
	if s.asked && s.view.Error == "" {
		before := d.Cards
		d.Cards = cards(w.Intent, s.seen)
		if s.seen.Fact == intents.Final {
			d.suggest(s.seen.Ref)
		}
		d.Now.Changes = differ(before, d.Cards)
	}
}

// suggest puts the other side's own reference into the form.
func (d *decideView) suggest(ref string) {
	for i := range d.Cards {
		if d.Cards[i].Do == desk.Settle && d.Cards[i].Refused == "" {
			d.Cards[i].Form.Ref = ref
		}
	}
}

// keep puts back what a person wrote.
func (d *decideView) keep(f formView) {
	for i := range d.Cards {
		if d.Cards[i].Do == f.Do {
			d.Cards[i].Form, d.Cards[i].Against = f, f.Against
		}
	}
}

// cards are the decisions that may be taken after what was seen.
func cards(in intents.Intent, seen intents.Observation) []card {
	var all []card
	for _, ch := range desk.Choices(in, seen) {
		if ch.Do == desk.Note {
			continue // that has a form of its own on every intent's page
		}
		k := card{Do: ch.Do, Title: deedTitle(in, ch.Do), Will: deedWill(in, ch.Do)}
		if ch.Refused {
			k.Refused = ch.Why
		}
		if ch.Twice {
			k.Twice = ch.Why
		}
		all = append(all, k)
	}
	return all
}

func differ(a, b []card) bool {
	if len(a) != len(b) {
		return true
	}
	for i := range a {
		if a[i] != b[i] {
			return true
		}
	}
	return false
}

// sight is one look at the other side.
type sight struct {
	asked bool
	seen  intents.Observation
	view  nowView
}

// ask asks the other side, and writes nothing. It takes no longer than it may.
func (c *Console) ask(ctx context.Context, w intents.Watch) sight {
	if len(w.Attempts) == 0 {
		return sight{}
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Ask)
	defer cancel()
	s := sight{asked: true, view: nowView{Can: true, Asked: true}}
	other, done, err := c.cfg.Others.Other(ctx, w.Intent.Route)
	if err == nil {
		defer done()
		s.seen, _, err = desk.New(c.cfg.Reviews, other, c.cfg.Looker, w).Peek(ctx)
	}
	if err != nil {
		s.view.Error = c.cfg.Redact(err.Error())
		return s
	}
	s.view.Words, s.view.Ref, s.view.Evidence = factWords(s.seen), s.seen.Ref, s.seen.Evidence
	return s
}

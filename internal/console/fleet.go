package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Routes shows and switches routes.
type Routes interface {
	// Routes tells how each route stands, by name.
	Routes(ctx context.Context) ([]Route, error)
	// SetPaused turns a route's switch, for all processes.
	SetPaused(ctx context.Context, route string, paused bool, actor string) error
}

// Route is a route as it stands.
type Route struct {
	Name, Sender, Topic string
	Switch              intents.RouteState // who turned it last; zero: nobody did
	Here                *Here              // in this process; nil: it does not work the route
	Queue               *Queue             // nil: no nsqd could be asked
	QueueError          string             // why not
}

// Here is how a route stands in this process.
type Here struct {
	InFlight, Waiting int
	PerSecond         string // what the throttle lets through
	CalmUntil         time.Time
	Breaker           string // what it does; empty: it lets everything through
	Draining          bool
}

// Queue is what NSQ holds for a route.
type Queue struct {
	Depth, InFlight, Deferred int64
	Clients                   int
	Paused                    bool
}

func (c *Console) routes(w http.ResponseWriter, r *http.Request, who Person) {
	all, err := c.cfg.Routes.Routes(r.Context())
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	c.seen(w, r, who, "routes", page{Title: "Routes", Body: all})
}

func (c *Console) pause(w http.ResponseWriter, r *http.Request, who Person) { c.turn(w, r, who, true) }

func (c *Console) resume(w http.ResponseWriter, r *http.Request, who Person) {
	c.turn(w, r, who, false)
}

// turn turns a switch of a route that there is.
func (c *Console) turn(w http.ResponseWriter, r *http.Request, who Person, paused bool) {
	all, err := c.cfg.Routes.Routes(r.Context())
	route, known := r.PathValue("route"), false
	for _, one := range all {
		known = known || one.Name == route
	}
	switch {
	case err != nil:
	case !known:
		c.fail(w, r, who, http.StatusNotFound, "There is no such route", "Nothing was done.")
		return
	default:
		err = c.cfg.Routes.SetPaused(r.Context(), route, paused, who.Name)
	}
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	did := "resumed"
	if paused {
		did = "paused"
	}
	http.Redirect(w, r, "/routes?did="+did, http.StatusSeeOther)
}

// Fleet knows the processes.
type Fleet interface {
	// Instances reads the processes that were seen lately, by name.
	Instances(ctx context.Context) ([]Instance, error)
}

// Instance is a process of the relayer.
type Instance struct {
	Name, Version   string
	Host            string
	PID             int
	Routes          []string
	InFlight        int
	Draining        bool
	Started, SeenAt time.Time
	Gone            bool // it was not seen for too long
}

func (c *Console) instances(w http.ResponseWriter, r *http.Request, who Person) {
	all, err := c.cfg.Fleet.Instances(r.Context())
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	c.seen(w, r, who, "instances", page{Title: "Instances", Body: all})
}

// Signers keeps counters of nonces.
type Signers interface {
	// Signers reads every counter scope.
	Signers(ctx context.Context) ([]intents.Signer, error)
	// Freeze stops a signer: no number is given out. Errors: intents.ErrNoSigner.
	Freeze(ctx context.Context, scope, reason, actor string) (intents.Signer, error)
	// Unfreeze lets it give out numbers again. Errors: intents.ErrNoSigner.
	Unfreeze(ctx context.Context, scope, reason, actor string) (intents.Signer, error)
	// Balances tells what was last seen of each scope, in the smallest unit. What was never seen is left out.
	Balances() map[string]intents.Amount
}

type signerView struct {
	intents.Signer
	Balance string // empty: not seen from here
	Unseen  int64  // numbers that the chain has used and nobody here gave out
	ID      int    // of its forms
}

func (c *Console) signers(w http.ResponseWriter, r *http.Request, who Person) {
	all, err := c.cfg.Signers.Signers(r.Context())
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	c.seen(w, r, who, "signers", page{Title: "Signers", Body: c.viewSigners(all)})
}

func (c *Console) viewSigners(all []intents.Signer) []signerView {
	balances := c.cfg.Signers.Balances()
	views := make([]signerView, len(all))
	for i, s := range all {
		views[i] = signerView{Signer: s, Unseen: max(0, s.Seen-s.Next), ID: i}
		if b, ok := balances[s.Scope]; ok {
			views[i].Balance = b.String()
		}
	}
	return views
}

func (c *Console) freeze(w http.ResponseWriter, r *http.Request, who Person) {
	c.order(w, r, who, "frozen", func(ctx context.Context, scope, reason string) error {
		_, err := c.cfg.Signers.Freeze(ctx, scope, reason, who.Name)
		return err
	})
}

// unfreeze goes by the rule of the command line: what the chain used and nobody gave out hides what may be paid twice.
func (c *Console) unfreeze(w http.ResponseWriter, r *http.Request, who Person) {
	c.order(w, r, who, "unfrozen", func(ctx context.Context, scope, reason string) error {
		all, err := c.cfg.Signers.Signers(ctx)
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.Scope == scope && s.Seen > s.Next && r.PostFormValue("unseen") == "" {
				return errUnseen
			}
		}
		_, err = c.cfg.Signers.Unfreeze(ctx, scope, reason, who.Name)
		return err
	})
}

// order has something done about a signer, for a reason.
func (c *Console) order(w http.ResponseWriter, r *http.Request, who Person, did string, do func(ctx context.Context, scope, reason string) error) {
	reason := strings.TrimSpace(r.PostFormValue("reason"))
	err := errNoReason
	if reason != "" {
		err = do(r.Context(), r.PostFormValue("scope"), reason)
	}
	if text, ok := signerTrouble(err); ok {
		c.fail(w, r, who, http.StatusConflict, "Nothing was done", text)
		return
	}
	if err != nil {
		c.broken(w, r, who, err)
		return
	}
	http.Redirect(w, r, "/signers?did="+url.QueryEscape(did), http.StatusSeeOther)
}

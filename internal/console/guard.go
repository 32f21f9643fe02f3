package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/nsqrelayer/relayer/internal/httpd"
)

// Person is who looks at a page.
type Person struct {
	Name string // stands in timelines for what is done
	Acts bool   // may decide, pause, replay; else only see

	open bool // nobody is asked for a token
}

// ErrBadToken says that a token is unknown, revoked, expired, or lets nobody see anything.
var ErrBadToken = errors.New("this token does not open the console")

// Guard knows tokens.
type Guard interface {
	// Open says whether nobody needs a token: none was ever made.
	Open(ctx context.Context) (bool, error)
	// Check says whose token it is. Errors: ErrBadToken.
	Check(ctx context.Context, token string) (Person, error)
}

// policy lets a page load nothing but what we serve, be framed by nobody, and post only to us.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// outer is what every answer has. Posts of other sites are refused. The referrer is kept for our own pages: without one
// browsers send "Origin: null", which cannot be told from a stranger's.
func (c *Console) outer(next http.Handler) http.Handler {
	same := http.NewCrossOriginProtection()
	same.SetDenyHandler(http.HandlerFunc(c.foreign))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		same.Handler(next).ServeHTTP(w, r)
	})
}

// maxForm bounds what a form may send, in bytes.
const maxForm = 64 << 10

func (c *Console) foreign(w http.ResponseWriter, r *http.Request) {
	c.fail(w, r, Person{}, http.StatusForbidden, "This came from another site", "Nothing was done. Open the console itself and try again.")
}

// A view answers a person.
type view func(w http.ResponseWriter, r *http.Request, who Person)

// sees lets a person see.
func (c *Console) sees(next view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who, ok := c.who(w, r); ok {
			next(w, r, who)
		}
	})
}

// acts lets a person act.
func (c *Console) acts(next view) http.Handler {
	return c.sees(func(w http.ResponseWriter, r *http.Request, who Person) {
		if !who.Acts {
			c.fail(w, r, who, http.StatusForbidden, "Your token may only look", "Nothing was done. Deciding takes a token with the scope operate: relayer token create --scope read,operate")
			return
		}
		next(w, r, who)
	})
}

// who finds out who looks, or answers itself: with the page to sign in at.
func (c *Console) who(w http.ResponseWriter, r *http.Request) (Person, bool) {
	open, err := c.open(r.Context())
	switch {
	case err != nil:
		c.broken(w, r, Person{}, err)
		return Person{}, false
	case open && !httpd.Here(r):
		c.fail(w, r, Person{}, http.StatusForbidden, "Nobody is asked for a token here, so the console answers to this machine only",
			"Open it as http://127.0.0.1 with its port, or make a token: relayer token create")
		return Person{}, false
	case open:
		return Person{Name: c.cfg.Open, Acts: true, open: true}, true
	}
	who, err := c.signedIn(r)
	switch {
	case err == nil:
		return who, true
	case errors.Is(err, ErrBadToken):
		c.toSignin(w, r)
	default:
		c.broken(w, r, Person{}, err)
	}
	return Person{}, false
}

func (c *Console) open(ctx context.Context) (bool, error) {
	if c.cfg.Guard == nil {
		return true, nil
	}
	return c.cfg.Guard.Open(ctx)
}

// toSignin sends a person to the page to sign in at, and back afterwards.
func (c *Console) toSignin(w http.ResponseWriter, r *http.Request) {
	to := "/signin"
	if r.Method == http.MethodGet && r.Header.Get("HX-Request") == "" {
		to += "?to=" + url.QueryEscape(r.URL.RequestURI())
	}
	if r.Header.Get("HX-Request") != "" { // a part of a page that is kept fresh: the whole page must go
		w.Header().Set("HX-Redirect", to)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

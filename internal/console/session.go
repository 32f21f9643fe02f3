package console

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	cookieName  = "relayer_session"
	sessionFor  = 12 * time.Hour
	mostSession = 10_000
)

// sessions are who signed in, in memory: a restart signs everybody out. The token is asked about with every request, so
// that revoking it ends its sessions.
type sessions struct {
	now func() time.Time

	mu   sync.Mutex
	byID map[string]session
}

type session struct {
	token string
	until time.Time
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, byID: map[string]session{}}
}

// begin remembers a token under a new id. What has ended is forgotten; when there are too many all are.
func (s *sessions) begin(token string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.byID, func(_ string, old session) bool { return !now.Before(old.until) })
	if len(s.byID) >= mostSession {
		clear(s.byID)
	}
	id = rand.Text()
	s.byID[id] = session{token, now.Add(sessionFor)}
	return id
}

func (s *sessions) token(id string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byID[id]
	return found.token, ok && s.now().Before(found.until)
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

// signedIn is who the request's session belongs to. Errors: ErrBadToken; the guard's.
func (c *Console) signedIn(r *http.Request) (Person, error) {
	k, err := r.Cookie(cookieName)
	if err != nil {
		return Person{}, ErrBadToken
	}
	token, ok := c.sessions.token(k.Value)
	if !ok {
		return Person{}, ErrBadToken
	}
	return c.check(r.Context(), token)
}

func (c *Console) check(ctx context.Context, token string) (Person, error) {
	if c.cfg.Guard == nil || token == "" {
		return Person{}, ErrBadToken
	}
	return c.cfg.Guard.Check(ctx, token)
}

// signinView is the page to sign in at.
type signinView struct{ To, Wrong string }

func (c *Console) signinPage(w http.ResponseWriter, r *http.Request) {
	c.show(w, http.StatusOK, "signin", page{Title: "Sign in", Body: signinView{To: inside(r.FormValue("to"))}})
}

// signin takes a token and begins a session.
func (c *Console) signin(w http.ResponseWriter, r *http.Request) {
	token, to := strings.TrimSpace(r.PostFormValue("token")), inside(r.PostFormValue("to"))
	_, err := c.check(r.Context(), token)
	switch {
	case errors.Is(err, ErrBadToken):
		c.show(w, http.StatusUnauthorized, "signin", page{Title: "Sign in", Body: signinView{To: to,
			Wrong: "This token does not open the console: it is mistyped, revoked, expired, or has not the scope read."}})
		return
	case err != nil:
		c.broken(w, r, Person{}, err)
		return
	}
	http.SetCookie(w, cookie(r, c.sessions.begin(token), int(sessionFor/time.Second)))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (c *Console) signout(w http.ResponseWriter, r *http.Request) {
	if k, err := r.Cookie(cookieName); err == nil {
		c.sessions.end(k.Value)
	}
	http.SetCookie(w, cookie(r, "", -1))
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// cookie is kept from scripts and from requests of other sites.
func cookie(r *http.Request, id string, age int) *http.Cookie {
	tls := r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
	return &http.Cookie{Name: cookieName, Value: id, Path: "/", MaxAge: age, HttpOnly: true, Secure: tls, SameSite: http.SameSiteStrictMode}
}

// inside is a place of ours to go to; the overview for any other.
func inside(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n") {
		return "/"
	}
	return to
}

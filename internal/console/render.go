package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

//go:embed templates
var templates embed.FS

//go:embed static
var static embed.FS

// files serves what pages load. Names of what is not ours carry its version; our own are asked for again each time.
func files() http.Handler {
	serve := http.FileServerFS(static)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "max-age=300")
		serve.ServeHTTP(w, r)
	})
}

// page is what every page shows.
type page struct {
	Title  string
	Who    Person
	Notice *notice
	Body   any

	Version string // of the program
	Path    string // the entry of the menu that is shown
	Open    bool   // nobody signs in
	Waiting string // how many wait for a person; empty: none, or it cannot be told
}

// notice is what is said above a page.
type notice struct {
	Bad   bool
	Title string
	Text  string
	More  bool // a review was decided: others may wait
}

// views are the templates of each page, with the layout and the parts that they share.
type views struct{ byName map[string]*template.Template }

func readViews(now func() time.Time) (*views, error) {
	base, err := template.New("").Funcs(words(now)).ParseFS(templates, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	v := &views{byName: map[string]*template.Template{}}
	for _, name := range names {
		short := strings.TrimSuffix(path.Base(name), ".html")
		if short == "layout" || short == "parts" {
			continue
		}
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(templates, name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v.byName[short] = t
	}
	return v, nil
}

// show answers with a page.
func (c *Console) show(w http.ResponseWriter, status int, name string, p page) {
	p.Version = c.cfg.Version
	c.write(w, status, name, "layout", p)
}

// write answers with a template, once all of it could be made.
func (c *Console) write(w http.ResponseWriter, status int, name, part string, data any) {
	var b bytes.Buffer
	if err := c.views.byName[name].ExecuteTemplate(&b, part, data); err != nil {
		c.cfg.Logger.Error("console page", "page", name, "err", err)
		http.Error(w, "This page cannot be shown. The log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // who asked may have gone
}

// seen answers a person with a page.
func (c *Console) seen(w http.ResponseWriter, r *http.Request, who Person, name string, p page) {
	c.seenWith(w, r, who, http.StatusOK, name, p)
}

func (c *Console) seenWith(w http.ResponseWriter, r *http.Request, who Person, status int, name string, p page) {
	p.Who, p.Open = who, who.open
	p.Path, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if status < http.StatusInternalServerError && who.Name != "" {
		p.Waiting = c.waiting(r.Context())
	}
	if p.Notice == nil {
		p.Notice = told(r.URL.Query().Get("did"))
	}
	c.show(w, status, name, p)
}

// fail answers with a page that says what went wrong.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, who Person, status int, title, text string) {
	c.seenWith(w, r, who, status, "message", page{Title: title, Notice: &notice{}, Body: text})
}

// broken answers about an error that is not the person's.
func (c *Console) broken(w http.ResponseWriter, r *http.Request, who Person, err error) {
	switch {
	case errors.Is(err, intents.ErrNotFound):
		c.fail(w, r, who, http.StatusNotFound, "There is no such intent", "No intent of this id is known. Ids are case sensitive.")
	case errors.Is(err, intents.ErrUnsure):
		c.fail(w, r, who, http.StatusServiceUnavailable, "It is not known whether that was written",
			"The database did not answer. Open the page again and look at the timeline: doing the same again does nothing twice.")
	case errors.Is(err, intents.ErrUnavailable):
		c.cfg.Logger.Warn("console: the database cannot be reached", "err", err)
		c.fail(w, r, who, http.StatusServiceUnavailable, "The database cannot be reached",
			"Nothing was changed. What is under way goes on when it is back. Try again in a moment.")
	default:
		c.cfg.Logger.Error("console", "path", r.URL.Path, "err", err)
		c.fail(w, r, who, http.StatusInternalServerError, "That went wrong", "Nothing is known to have changed. The log says more.")
	}
}

func (c *Console) nowhere(w http.ResponseWriter, r *http.Request, who Person) {
	c.fail(w, r, who, http.StatusNotFound, "There is no such page", "The menu above leads to all there are.")
}

// part answers with a part of a page.
func (c *Console) part(w http.ResponseWriter, name, part string, data any) {
	c.write(w, http.StatusOK, name, part, data)
}

package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/nsqrelayer/relayer/internal/httpd"
)

// guard is what every request passes before anything is looked up: the host it is meant for, and a body that is JSON, of
// bounded size, with each name once.
func (a *api) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if p := a.refuse(w, r); p != nil {
			a.send(w, r, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *api) refuse(w http.ResponseWriter, r *http.Request) *Problem {
	if a.cfg.Loopback && !httpd.LocalHost(r) {
		return newProblem(codeHost, "it listens on this machine only; Host says "+a.cfg.Redact(r.Host))
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return newProblem(codeType, "Content-Type must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return newProblem(codeTooLarge, "a body has at most 65536 bytes")
	}
	if err == nil && len(body) > 0 {
		err = strict(body)
	}
	if err != nil {
		return newProblem(codeBadRequest, "body: "+err.Error())
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

var (
	errRepeated = errors.New("a name stands twice in an object")
	errCase     = errors.New("names are written in lower case")
	errTrailing = errors.New("something follows the JSON")
	errNoObject = errors.New("want a JSON object")
)

// strict refuses what encoding/json would let pass: repeated names, of which it takes the last, and other letter case in the
// names of the body itself.
func strict(body []byte) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errNoObject
	}
	if err := object(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

// maxDepth is how deep objects and arrays may lie within each other.
const maxDepth = 8

// object reads the rest of an object.
func object(dec *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if depth == 0 && name != strings.ToLower(name) {
			return errCase
		}
		if seen[name] {
			return errRepeated
		}
		seen[name] = true
		if err := value(dec, depth); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func value(dec *json.Decoder, depth int) error {
	t, err := dec.Token()
	switch {
	case err != nil:
		return err
	case depth >= maxDepth:
		return errNoObject
	case t == json.Delim('{'):
		return object(dec, depth+1)
	case t == json.Delim('['):
		for dec.More() {
			if err := value(dec, depth+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	}
	return err
}

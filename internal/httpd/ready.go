package httpd

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Check is one thing that must be well for a process to be ready.
type Check struct {
	Name string
	// Ask says that it is well (nil), or why it is not. It returns soon after ctx ends.
	Ask func(ctx context.Context) error
}

// readyTimeout bounds all checks of one request.
const readyTimeout = 3 * time.Second

// Ready answers 200 while every check is well, else 503, and says which are not. With ?verbose it names all of them. Those of
// one request are asked at the same time. Errors must not hold secrets: they are shown.
func Ready(checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		found := askAll(ctx, checks)
		_, verbose := r.URL.Query()["verbose"]
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status(found))
		_, _ = w.Write([]byte(report(checks, found, verbose))) // who asked has gone
	})
}

func askAll(ctx context.Context, checks []Check) []error {
	found := make([]error, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { found[i] = c.Ask(ctx) })
	}
	all.Wait()
	return found
}

func status(found []error) int {
	if slices.ContainsFunc(found, func(err error) bool { return err != nil }) {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// report is a line for each check: [+] name, or [-] name: why not.
func report(checks []Check, found []error, verbose bool) string {
	var b strings.Builder
	for i, c := range checks {
		switch {
		case found[i] != nil:
			fmt.Fprintf(&b, "[-] %s: %s\n", c.Name, strings.ReplaceAll(found[i].Error(), "\n", "; "))
		case verbose:
			fmt.Fprintf(&b, "[+] %s\n", c.Name)
		}
	}
	if status(found) == http.StatusOK {
		return b.String() + "ready\n"
	}
	return b.String() + "not ready\n"
}

package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// Setting is a value for one path, from outside the file and the environment.
type Setting struct {
	Path  string // such as routes.payouts.concurrency
	Value string
	From  string // what to call its source in errors: "--drain-timeout"

	raw any // as TOML has it, where Value would not do
}

// Load reads the file at path, unless path is empty, then the RELAYER_… variables of environ (as os.Environ gives it),
// then flags; later ones win. Where one layer sets a secret and another its -file or -env twin, the later one wins too.
//
// The error joins everything that is wrong with single values, each wrapping an *intents.InvalidError and naming its
// source. What makes no sense together is for [Config.Validate], which also reports secrets that cannot be read, so that
// commands that need none of them work without.
func Load(path string, environ []string, flags ...Setting) (Config, error) {
	l := loader{cfg: defaults(), env: environment(environ)}
	if path != "" {
		file, err := l.readFile(path)
		if err != nil {
			return l.cfg, err
		}
		l.apply(file)
	}
	l.apply(l.variables())
	l.apply(l.seen(flags))
	l.cfg.readSecrets(l.env)
	return l.cfg, errors.Join(l.errs...)
}

type loader struct {
	cfg  Config
	env  map[string]string
	errs []error
}

// apply is one layer.
func (l *loader) apply(layer []Setting) {
	set := map[string]string{} // by the secret's path: which of it and its twins this layer sets
	for _, s := range layer {
		if err := l.applyOne(s, set); err != nil {
			l.errs = append(l.errs, fmt.Errorf("%s: %w", cmp.Or(s.From, s.Path), err))
		}
	}
}

func (l *loader) applyOne(s Setting, set map[string]string) error {
	if err := l.openRoute(s.Path); err != nil {
		return err
	}
	leaf, ok := l.cfg.leaf(s.Path)
	if !ok {
		return l.cfg.unknown(s.Path)
	}
	if base := l.cfg.secretOf(s.Path); base != "" {
		if other := set[base]; other != "" {
			return &intents.InvalidError{Field: s.Path, Value: hidden, Want: "only one of it and " + other}
		}
		set[base] = s.Path
		l.cfg.clear(base)
	}
	l.cfg.from[s.Path] = cmp.Or(s.From, s.Path)
	return leaf.set(cmp.Or[any](s.raw, s.Value))
}

// seen refuses flags that would show a secret to whoever lists processes. A database's URL may come without one.
func (l *loader) seen(flags []Setting) []Setting {
	return slices.DeleteFunc(slices.Clone(flags), func(s Setting) bool {
		_ = l.openRoute(s.Path) // an error comes again when it is applied
		secret := s.Path == l.cfg.secretOf(s.Path) && s.Path != "database-url"
		if secret {
			bad := &intents.InvalidError{Field: s.Path, Value: hidden, Want: "no secret on the command line; set " + Variable(s.Path)}
			l.errs = append(l.errs, fmt.Errorf("%s: %w", cmp.Or(s.From, s.Path), bad))
		}
		return secret
	})
}

// openRoute makes the route a path leads into.
func (l *loader) openRoute(path string) error {
	parts := strings.SplitN(path, ".", 3)
	if parts[0] != "routes" || len(parts) < 2 || l.cfg.Routes[parts[1]] != nil {
		return nil
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`).MatchString(parts[1]) {
		return &intents.InvalidError{Field: "routes", Value: parts[1], Want: "a name of 1 to 64 of A-Z a-z 0-9 _ -, the first a letter or digit"}
	}
	l.cfg.Routes[parts[1]] = defaultRoute()
	return nil
}

// unknown says what stands where the path leads.
func (c *Config) unknown(path string) error {
	if c.isTable(path) {
		return &intents.InvalidError{Field: path, Want: "a table"}
	}
	parent, name := "", path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	if _, value := c.leaf(parent); parent != "" && !value && !c.isTable(parent) {
		return c.unknown(parent)
	}
	known := map[string]bool{}
	for l := range c.leaves() {
		if rest, ok := strings.CutPrefix(l.path, join(parent, "")); ok {
			next, _, _ := strings.Cut(strings.TrimPrefix(rest, "."), ".")
			known[next] = true
		}
	}
	if parent == "" {
		known["routes"] = true
	}
	names := slices.Sorted(maps.Keys(known))
	if len(names) == 0 {
		return &intents.InvalidError{Field: parent, Value: name, Want: "nothing below it"}
	}
	return &intents.InvalidError{Field: cmp.Or(parent, "settings"), Value: name, Want: "one of " + strings.Join(names, ", ")}
}

func (c *Config) isTable(path string) bool {
	for l := range c.leaves() {
		if strings.HasPrefix(l.path, path+".") {
			return true
		}
	}
	return path == "routes" || strings.HasPrefix(path, "routes.") && c.Routes[strings.TrimPrefix(path, "routes.")] != nil
}

// From says what set a path: "relayer.toml:12", "RELAYER_DRAIN_TIMEOUT", "--drain-timeout"; "default" when nothing did.
func (c Config) From(path string) string { return cmp.Or(c.from[path], "default") }

// String lists every setting that was set, with its source, one a line. It shows no secret.
func (c Config) String() string {
	var b strings.Builder
	for l := range c.leaves() {
		if from := c.from[l.path]; from != "" {
			fmt.Fprintf(&b, "%s = %v (%s)\n", l.path, l.value.Interface(), from)
		}
	}
	return b.String()
}

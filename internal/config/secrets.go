package config

import (
	"fmt"
	"os"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// A secret has twins that say where to read it: NAME-file names a file, NAME-env a variable.
const (
	fileTwin = "-file"
	envTwin  = "-env"
)

// secretOf gives the path of the secret that path is, or is a twin of; empty when it is neither.
func (c *Config) secretOf(path string) string {
	for _, twin := range []string{"", fileTwin, envTwin} {
		base, ok := strings.CutSuffix(path, twin)
		if l, known := c.leaf(base); ok && known && l.isSecret() {
			return base
		}
	}
	return ""
}

// clear takes back what an earlier layer said about a secret.
func (c *Config) clear(base string) {
	for _, twin := range []string{"", fileTwin, envTwin} {
		if l, ok := c.leaf(base + twin); ok {
			l.value.SetZero()
			delete(c.from, l.path)
		}
	}
}

// readSecrets follows the twins. What cannot be read is kept for Validate.
func (c *Config) readSecrets(env map[string]string) {
	for l := range c.leaves() {
		where, ok := l.value.Interface().(string)
		base := c.secretOf(l.path)
		if !ok || where == "" || base == "" {
			continue
		}
		text, err := readSecret(l.path, where, env)
		if err != nil {
			c.broken[l.path] = err
			continue
		}
		secret, _ := c.leaf(base)
		secret.reveal(text)
	}
	c.libpq = env["PGHOST"] != "" || env["PGDATABASE"] != "" || env["PGSERVICE"] != ""
	for name, r := range c.Routes {
		c.readHeaders("routes."+name+".headers-file", &r.Webhook)
	}
}

func readSecret(path, where string, env map[string]string) (string, error) {
	if strings.HasSuffix(path, envTwin) {
		if env[where] == "" {
			return "", &intents.InvalidError{Field: path, Value: where, Want: "the name of a variable that is set"}
		}
		return env[where], nil
	}
	text, err := os.ReadFile(where)
	if err != nil {
		return "", &intents.InvalidError{Field: path, Value: where, Want: "a file that can be read (" + reason(err) + ")"}
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return "", &intents.InvalidError{Field: path, Value: where, Want: "a file that is not empty"}
	}
	return secret, nil
}

// readHeaders reads lines "Name: value"; empty ones and those after # are left out.
func (c *Config) readHeaders(path string, w *Webhook) {
	if w.HeadersFile == "" {
		return
	}
	text, err := readSecret(path, w.HeadersFile, nil)
	if err != nil {
		c.broken[path] = err
		return
	}
	w.headers = map[string]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if name, value = strings.TrimSpace(name), strings.TrimSpace(value); !ok || name == "" || value == "" {
			c.broken[path] = &intents.InvalidError{Field: path, Value: fmt.Sprintf("%s, line %d", w.HeadersFile, n), Want: "Name: value"}
			return
		}
		w.headers[name] = value
	}
}

package config

import (
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

const hidden = "***"

// Secret is a setting that nobody may see. However it is printed, it shows no more than where a URL leads.
type Secret struct{ value string }

// NewSecret makes a secret of a value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal gives the value. It must go nowhere but to whom it is for.
func (s Secret) Reveal() string { return s.value }

// String gives what may be shown: scheme, user, host and database of a database's URL, scheme and host of any other, the
// host of a key=value connection string, *** of everything else.
func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	if host := regexp.MustCompile(`\bhost\s*=\s*([\w./:-]+)`).FindStringSubmatch(s.value); host != nil && !strings.Contains(s.value, "://") {
		return "host=" + host[1] + " " + hidden
	}
	u, err := url.Parse(s.value)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return hidden
	}
	return showURL(u)
}

func showURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host}
	if !isDatabase(u) {
		return shown.String() + "/" + hidden
	}
	shown.Path = u.Path
	if u.User == nil {
		return shown.String()
	}
	return strings.Replace(shown.String(), "://", "://"+url.User(u.User.Username()).String()+":"+hidden+"@", 1)
}

func isDatabase(u *url.URL) bool { return u.Scheme == "postgres" || u.Scheme == "postgresql" }

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, for JSON and TOML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// needles are the parts of the value that text from elsewhere may quote: libraries put URLs into their errors. Very
// short ones are left out; what they hide is less than what a text full of stars costs.
func (s Secret) needles() []string {
	all := append([]string{s.value}, strings.Split(s.value, "\n")...) // a passphrase a line
	if m := regexp.MustCompile(`\bpassword\s*=\s*('(?:\\.|[^'\\])*'|\S+)`).FindStringSubmatch(s.value); m != nil {
		all = append(all, strings.Trim(m[1], "'"))
	}
	if u, err := url.Parse(s.value); err == nil && u.Host != "" {
		all = append(all, urlNeedles(u)...)
	}
	var long []string
	for _, n := range all {
		if len(n) >= 4 {
			long = append(long, n)
		}
	}
	return long
}

func urlNeedles(u *url.URL) []string {
	var all []string
	if p, ok := u.User.Password(); ok {
		all = append(all, p, url.QueryEscape(p), url.PathEscape(p))
	}
	if isDatabase(u) {
		return append(all, u.Query().Get("password"))
	}
	all = append(all, u.RequestURI(), u.Path, u.User.Username())
	for _, values := range u.Query() {
		all = append(all, values...)
	}
	return all
}

// Redact takes every secret of the configuration, and whatever looks like user info of a URL, out of a text.
func (c Config) Redact(text string) string {
	for l := range c.leaves() {
		s, ok := l.value.Interface().(interface{ needles() []string })
		if !ok {
			continue
		}
		for _, n := range s.needles() {
			text = strings.ReplaceAll(text, n, hidden)
		}
	}
	for _, r := range c.Routes {
		for _, value := range r.Webhook.headers {
			text = strings.ReplaceAll(text, value, hidden)
		}
	}
	return Scrub(text)
}

// Scrub takes whatever looks like user info of a URL out of a text.
func Scrub(text string) string {
	return regexp.MustCompile(`://[^\s"'@]*:[^\s"']*@`).ReplaceAllString(text, "://"+hidden+"@")
}

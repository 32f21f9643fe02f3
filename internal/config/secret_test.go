package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/internal/config"
)

// secrets are the strings of case 111 that may stand nowhere.
var secrets = []string{"SECRETKEY", "SECRET2", "hunter22"}

func leaks(t *testing.T, where, text string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s shows %s: %s", where, s, text)
		}
	}
}

// TestSecretsStayHidden is case 111 for a setting, however it is printed.
func TestSecretsStayHidden(t *testing.T) {
	tests := []struct{ value, want string }{
		{"", ""},
		{"SECRETKEY", "***"},
		{"postgres://app:hunter22@db:5432/relayer?sslmode=disable&sslpassword=SECRET2", "postgres://app:***@db:5432/relayer"},
		{"postgres://app@db/relayer?password=hunter22", "postgres://app:***@db/relayer"},
		{"postgresql:///relayer?password=hunter22", "***"},
		{"host=db port=5432 user=app password='hunter22 SECRET2'", "host=db ***"},
		{"password=hunter22", "***"},
		{"https://rpc.example/v2/SECRETKEY?apikey=SECRET2", "https://rpc.example/***"},
		{"https://SECRETKEY@rpc.example:8443/", "https://rpc.example:8443/***"},
		{"https://bad host/SECRETKEY", "***"},
		{"postgres://app:hun%ter22SECRETKEY@db/x", "***"},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			s := config.NewSecret(tt.value)
			if s.String() != tt.want || s.Reveal() != tt.value {
				t.Errorf("got %q, want %q", s, tt.want)
			}
			type holder struct{ S config.Secret }
			js, err := json.Marshal(holder{s})
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "h", holder{s})
			for _, text := range []string{string(js), log.String(), fmt.Sprintf("%v %+v %#v %s %q", s, holder{s}, holder{s}, holder{s}.S, &s)} {
				leaks(t, "print", text)
			}
		})
	}
}

// TestRedact is case 111 for texts that others made of our secrets.
func TestRedact(t *testing.T) {
	text := strings.NewReplacer(
		"postgres://relayer@localhost/relayer?sslmode=disable", "postgres://app:hunter22@db/relayer",
		"http://127.0.0.1:8545", "https://rpc.example/v2/SECRETKEY?apikey=SECRET2",
		"https://pay.example/v1", "https://SECRETKEY@pay.example/v1",
	).Replace(plain)
	cfg := load(t, text, nil)
	_, parse := url.Parse(cfg.DatabaseURL.Reveal() + "%zz")
	for _, msg := range []string{
		`Post "https://rpc.example/v2/SECRETKEY?apikey=SECRET2": dial tcp: no such host`,
		`Get "/v2/SECRETKEY?apikey=SECRET2": 401`,
		`bad apikey SECRET2`,
		`pq: password "hunter22" is wrong`,
		parse.Error(),
		`unexpected argument postgres://other:hunter22@db/x`,
		`parse "postgres://a:hunter22@SECRET2@db/x": bad`,
	} {
		leaks(t, "redact", cfg.Redact(msg))
	}
	if got := cfg.Redact("routes.payouts: connection refused"); got != "routes.payouts: connection refused" {
		t.Errorf("harmless text becomes %q", got)
	}
	leaks(t, "String", cfg.String())
	if !strings.Contains(cfg.String(), "routes.payouts.rpc-url = https://rpc.example/*** (relayer.toml:18)") {
		t.Errorf("settings:\n%s", cfg)
	}
}

// TestErrorsHideSecrets is case 111 for settings that are wrong.
func TestErrorsHideSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"no text":       `database-url = ["SECRETKEY"]`,
		"not a URL":     `database-url = "SECRETKEY"`,
		"bad escape":    `database-url = "postgres://app:hunter22%zz@db/x"`,
		"another kind":  `database-url = "mysql://app:hunter22@db/x?SECRET2"`,
		"no TOML":       `database-url = "SECRETKEY`,
		"rpc":           "[routes.a]\nsender = \"evm\"\nrpc-url = \"ftp://x/SECRETKEY\"",
		"other sender":  "[routes.a]\nsender = \"evm\"\nsecret = \"SECRETKEY\"",
		"secret as int": "[routes.a]\nsender = \"webhook\"\nsecret = 5\nurl = \"https://u:hunter22@x/SECRETKEY\"",
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Load(write(t, text), nil)
			leaks(t, "load", fmt.Sprint(err))
			leaks(t, "validate", fmt.Sprint(cfg.Validate()))
			leaks(t, "settings", cfg.String())
		})
	}
}

package webhook_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/webhook"
)

// TestDialLiteral is case 100: an address that is not public is refused at start, unless it is allowed.
func TestDialLiteral(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"169.254.169.254", "[::ffff:169.254.169.254]", "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1",
		"0.0.0.0", "[::]", "[::1]", "[fe80::1]", "[fc00::1]", "[ff02::1]", "224.0.0.1", "255.255.255.255",
		"[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]", "198.18.0.1", "240.0.0.1",
	} {
		cfg := config(t, "http://"+host+":80")
		cfg.Allow = []string{"203.0.113.7"}
		if _, err := webhook.New(cfg); err == nil {
			t.Errorf("case 100: %s is accepted", host)
		}
		u, _ := url.Parse(cfg.URL)
		if cfg.Allow = []string{u.Hostname()}; cfg.Validate() != nil {
			t.Errorf("%s is refused although allowed: %v", host, cfg.Validate())
		}
	}
	for _, host := range []string{"1.1.1.1", "[2606:4700::1111]", "pay.example"} {
		if _, err := webhook.New(config(t, "http://"+host)); err != nil {
			t.Errorf("public %s is refused: %v", host, err)
		}
	}
}

// TestDialName is case 100: names are judged by the address that is dialed.
func TestDialName(t *testing.T) {
	t.Parallel()
	base := says(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	port := base[strings.LastIndex(base, ":"):]
	for _, host := range []string{"localhost", "2130706433", "0x7f.1", "127.1"} {
		t.Run("case 100: "+host, func(t *testing.T) {
			cfg := config(t, "http://"+host+port)
			cfg.Allow = nil
			s := open(t, cfg)
			r := s.Submit(t.Context(), prepared(t, s, 0))
			e := evidence(t, r.Evidence)
			if r.Verdict != intents.NotSent || e.Wrote || host == "localhost" && !strings.Contains(e.Error, "not public") {
				t.Errorf("%v, want not_sent because of the address: %s", r.Verdict, r.Evidence)
			}
		})
	}
	for _, allow := range []string{"localhost", "127.0.0.0/8"} {
		cfg := config(t, "http://localhost"+port)
		cfg.Allow = []string{allow, "::1"}
		s := open(t, cfg)
		if r := s.Submit(t.Context(), prepared(t, s, 0)); r.Verdict != intents.Accepted {
			t.Errorf("with %s allowed: %v, want accepted: %s", allow, r.Verdict, r.Evidence)
		}
	}
}

// TestDialProxy is case 100: proxy variables do not reroute calls on their own.
func TestDialProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", says(t, func(http.ResponseWriter, *http.Request) { t.Error("a call went through the proxy") }))
	s := open(t, config(t, "http://nothing.invalid"))
	if r := s.Submit(t.Context(), prepared(t, s, 0)); r.Verdict != intents.NotSent {
		t.Errorf("Submit = %v, want not_sent: %s", r.Verdict, r.Evidence)
	}
}

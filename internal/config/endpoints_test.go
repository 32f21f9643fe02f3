package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsqrelayer/relayer/internal/config"
)

const single = `rpc-url = "http://127.0.0.1:8545"`

// several is the plain file with something in place of its rpc-url.
func several(text string) string { return strings.Replace(plain, single, text, 1) }

func shown(cfg config.Config) (all []string) {
	for _, e := range cfg.Routes["payouts"].EVM.RPCURLs.All() {
		all = append(all, fmt.Sprintf("%s %d", e.URL.Reveal(), e.Weight))
	}
	return all
}

// TestEndpoints: several URLs come from the file, from a file of their own, from a variable.
func TestEndpoints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "urls")
	lines := "# production\nhttps://a.example/SECRETKEY 3\r\n\nhttp://b.example/x,y\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"https://a.example/SECRETKEY 3", "http://b.example/x,y 1"}
	for name, tt := range map[string]struct {
		text    string
		environ []string
		want    []string
	}{
		"list":          {`rpc-urls = ["https://a.example/SECRETKEY 3", "http://b.example/x,y"]`, nil, want},
		"one":           {`rpc-urls = ["http://b.example/x,y"]`, nil, want[1:]},
		"file":          {fmt.Sprintf("rpc-urls-file = %q", file), nil, want},
		"named":         {`rpc-urls-env = "NODES"`, []string{"NODES=" + lines}, want},
		"variable":      {"", []string{"RELAYER_ROUTES_PAYOUTS_RPC_URLS=https://a.example/k 2, https://b.example"}, []string{"https://a.example/k 2", "https://b.example 1"}},
		"its file twin": {`rpc-urls = ["http://c.example"]`, []string{"RELAYER_ROUTES_PAYOUTS_RPC_URLS_FILE=" + file}, want},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := load(t, several(tt.text), tt.environ)
			if err := cfg.Validate(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, shown(cfg)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEndpointsNonsense(t *testing.T) {
	const at = "routes.payouts.rpc-urls: "
	for text, want := range map[string]string{
		single + "\n" + `rpc-urls = ["http://a.example"]`: at + `"***" is invalid, want only one of it and rpc-url`,
		`rpc-urls = ["ftp://a.example/SECRETKEY"]`:        at + `"ftp://a.example/***" is invalid, want a URL of http, https`,
		`rpc-urls = ["http://a.example SECRETKEY"]`:       at + `"***" is invalid, want a list of URLs`,
		`rpc-urls = ["http://a.example/SECRETKEY 0"]`:     at + `"***" is invalid, want a list of URLs`,
		`rpc-urls = []`:                         `routes.payouts.rpc-url: "" is invalid`,
		`rpc-urls-file = "/nowhere/SECRETFREE"`: `routes.payouts.rpc-urls-file: "/nowhere/SECRETFREE" is invalid, want a file that can be read`,
	} {
		err := load(t, several(text), nil).Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", text, err, want)
		}
		leaks(t, "validate", fmt.Sprint(err))
	}
	_, err := config.Load(write(t, several(`rpc-urls = ["http://a.example/SECRETKEY", 5]`)), nil)
	if err == nil {
		t.Error("a list with a number is taken")
	}
	leaks(t, "load", fmt.Sprint(err))
	_, err = config.Load("", nil, config.Setting{Path: "routes.payouts.rpc-urls", Value: "http://a.example/SECRETKEY", From: "--set"})
	if err == nil || !strings.Contains(err.Error(), "no secret on the command line") {
		t.Errorf("on the command line: %v", err)
	}
	leaks(t, "flags", fmt.Sprint(err))
}

// TestEndpointsStayHidden is case 111 for several URLs.
func TestEndpointsStayHidden(t *testing.T) {
	cfg := load(t, several(`rpc-urls = ["https://a.example/v2/SECRETKEY 3", "https://u:hunter22@b.example/?k=SECRET2"]`), nil)
	for _, text := range []string{
		cfg.String(), fmt.Sprintf("%v %+v %#v", cfg.Routes["payouts"].EVM.RPCURLs, *cfg.Routes["payouts"], cfg.Routes["payouts"].EVM),
		cfg.Redact(`Post "https://a.example/v2/SECRETKEY": no such host; bad key SECRET2; password hunter22`),
	} {
		leaks(t, "print", text)
	}
	if !strings.Contains(cfg.String(), "routes.payouts.rpc-urls = https://a.example/***, https://b.example/*** (relayer.toml:") {
		t.Errorf("settings:\n%s", cfg)
	}
}

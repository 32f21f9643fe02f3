package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/internal/config"
)

// healthcheckCmd asks a process how it is, for images that hold no shell and no curl.
type healthcheckCmd struct {
	URL     string        `placeholder:"URL" help:"What to ask. Default: /readyz of http-address on this machine."`
	Timeout time.Duration `default:"5s" help:"How long to wait for the answer."`
}

// Help follows the description in relayer healthcheck --help.
func (healthcheckCmd) Help() string {
	return `Exit 0: it answered 200. Exit 1: it answered something else, which is printed, or nothing.`
}

// Run prints nothing when all is well.
func (c *healthcheckCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	target, err := c.target(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return usagef("--url: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// target is the URL to ask: that of an address where every interface listens is this machine's own.
func (c *healthcheckCmd) target(cfg config.Config) (string, error) {
	if c.URL != "" {
		if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", usagef("--url: %q is invalid, want one like http://127.0.0.1:4480/readyz", c.URL)
		}
		return c.URL, nil
	}
	host, port, err := net.SplitHostPort(cfg.HTTPAddress)
	if err != nil {
		return "", usagef("http-address is not set, and there is no --url: nobody to ask")
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	return "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port) + "/readyz", nil
}

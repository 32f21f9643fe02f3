//go:build !lean

package main

import (
	"context"

	"github.com/nsqrelayer/relayer/internal/httpd"
)

// devHTTPPort is where relayer dev serves, or at the next port that is free.
const devHTTPPort = 4480

// startHTTP takes the address for metrics; they are served once the relayer runs.
func (d *dev) startHTTP(ctx context.Context) error {
	addr, err := d.httpAddress()
	if err != nil {
		return err
	}
	d.parts.web, err = httpd.Listen(ctx, httpd.Config{Addr: addr, Logger: d.log})
	if err != nil {
		return err
	}
	d.stops = append(d.stops, func() error { d.parts.web.Close(); return nil })
	d.say("console", "http://%s/  metrics at /metrics", d.parts.web.Addr())
	return nil
}

// httpAddress picks the default or the next free port, or exactly the address that was set.
func (d *dev) httpAddress() (string, error) {
	const flag = "http-address"
	if given := d.given.HTTPAddress; given != "" {
		addr, err := d.parts.ports.Pick(flag, given, true)
		return addr, usage(err)
	}
	return d.port(flag, 0, devHTTPPort)
}

package evm

import (
	"io"
	"net/http"
)

// bounded bounds the answers of reads, which go-ethereum's client takes whole.
type bounded struct{ http.RoundTripper }

const maxRead = 32 << 20

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxRead), resp.Body}
	}
	return resp, err
}

// CloseIdleConnections lets http.Client reach the pool.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

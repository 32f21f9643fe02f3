package httpd

import (
	"net"
	"net/http"
	"strings"
)

// Here says whether a request comes from this machine, not by way of a proxy, and under a name that no page of elsewhere can
// take for itself (DNS rebinding).
func Here(r *http.Request) bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	return loopback(r.RemoteAddr) && LocalHost(r)
}

// LocalHost says whether the Host header names this machine.
func LocalHost(r *http.Request) bool { return loopback(r.Host) || hostOf(r.Host) == "localhost" }

// loopback says whether an address, with a port or without, is this machine's own.
func loopback(address string) bool {
	ip := net.ParseIP(hostOf(address))
	return ip != nil && ip.IsLoopback()
}

// hostOf is an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

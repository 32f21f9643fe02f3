package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"github.com/nsqrelayer/relayer/intents"
)

// guard keeps calls away from addresses that are not public. It looks at the address of each connection, after names
// were resolved: what a name pointed to a moment ago does not matter.
type guard struct {
	hosts map[string]bool
	nets  []netip.Prefix
}

// newGuard reads what is allowed although it is not public. Errors: *intents.InvalidError.
func newGuard(allow []string) (*guard, error) {
	g := &guard{hosts: make(map[string]bool)}
	for _, entry := range allow {
		if p, err := netip.ParsePrefix(entry); err == nil {
			g.nets = append(g.nets, p.Masked())
		} else if ip, err := netip.ParseAddr(entry); err == nil {
			g.nets = append(g.nets, netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()))
		} else if entry == "" || strings.ContainsAny(entry, "/:@ *") {
			return nil, &intents.InvalidError{Field: "allow", Value: entry, Want: "a network, an address or a host name"}
		} else {
			g.hosts[strings.ToLower(entry)] = true
		}
	}
	return g, nil
}

func (g *guard) named(host string) bool { return g.hosts[strings.ToLower(host)] }

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	if host, _, err := net.SplitHostPort(address); err != nil || !g.named(host) {
		d.Control = g.control
	}
	return d.DialContext(ctx, network, address)
}

func (g *guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !g.permits(at.Addr()) {
		return &blockedError{address}
	}
	return nil
}

// permits says whether an address is public or allowed.
func (g *guard) permits(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for _, n := range g.nets {
		if n.Contains(ip) {
			return true
		}
	}
	return public(ip)
}

// public says whether an unmapped address is one of the internet's. Prefixes that carry an IPv4 address inside (NAT64,
// 6to4, Teredo) are not: they lead wherever that address leads.
func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, n := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		if netip.MustParsePrefix(n).Contains(ip) {
			return false
		}
	}
	return true
}

// blockedError says that a connection was not made because of its address.
type blockedError struct{ address string }

func (e *blockedError) Error() string {
	return fmt.Sprintf("address %s is not public and not allowed", e.address)
}

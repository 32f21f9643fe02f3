package evm

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// pool is the nodes of a sender and what is known of them. It is safe for concurrent use.
type pool struct {
	mu     sync.Mutex
	nodes  []*node // in the order of the configuration
	jitter func(time.Duration) time.Duration
}

func newPool(nodes []*node) *pool {
	return &pool{nodes: nodes, jitter: func(d time.Duration) time.Duration { return d + rand.N(d/10+1) }}
}

// take picks the node for a read: by turns, as their weights say, of those that are open and were not asked yet. Nodes
// that lag come after all others. nil: none is left. What is taken must be given back with good, bad, cool or release.
func (p *pool) take(now time.Time, asked []*node) *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := slices.DeleteFunc(slices.Clone(p.nodes), func(n *node) bool { return !n.open(now) || slices.Contains(asked, n) })
	if fit := slices.DeleteFunc(slices.Clone(open), func(n *node) bool { return !n.fit() }); len(fit) > 0 {
		open = fit
	}
	return p.enter(turn(open))
}

// turn is smooth weighted round robin: each gains its weight, the richest pays for all.
func turn(nodes []*node) *node {
	var best *node
	sum := 0
	for _, n := range nodes {
		n.turn += n.weight
		sum += n.weight
		if best == nil || n.turn > best.turn {
			best = n
		}
	}
	if best != nil {
		best.turn -= sum
	}
	return best
}

// takeFirst picks the node for a send: the first of the configuration that is open, so that the numbers of a signer
// come to one pool in their order. Nodes that lag come last. nil: none is left.
func (p *pool) takeFirst(now time.Time, asked []*node) *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	var late *node
	for _, n := range p.nodes {
		switch {
		case !n.open(now) || slices.Contains(asked, n):
		case n.fit():
			return p.enter(n)
		case late == nil:
			late = n
		}
	}
	return p.enter(late)
}

// enter requires that p.mu is held.
func (p *pool) enter(n *node) *node {
	if n != nil {
		n.probing = n.delay > 0 || n.limits > 0
	}
	return n
}

// release gives back a node of which nothing was learned.
func (p *pool) release(n *node) { p.note(n, func(*health) { n.probing = false }) }

func (p *pool) good(n *node) { p.note(n, (*health).good) }

func (p *pool) bad(n *node) {
	p.note(n, func(h *health) { h.bad(time.Now(), p.jitter) })
}

func (p *pool) cool(n *node, asked time.Duration) (wait time.Duration) {
	p.note(n, func(h *health) { wait = h.cool(time.Now(), asked, p.jitter) })
	return wait
}

// doubt has the node asked for its chain before it is sent to again.
func (p *pool) doubt(n *node) { p.note(n, func(h *health) { h.verified = false }) }

// isOurs notes of which chain a node is, and says whether that is news.
func (p *pool) isOurs(n *node, ours bool) (news bool) {
	p.note(n, func(h *health) {
		news = h.foreign == ours
		h.verified, h.foreign = ours, !ours
	})
	return news
}

func (p *pool) verified(n *node) (ok bool) {
	p.note(n, func(h *health) { ok = h.verified })
	return ok
}

func (p *pool) note(n *node, f func(*health)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&n.health)
}

// sawHead notes a height that a node showed.
func (p *pool) sawHead(n *node, head uint64) {
	p.note(n, func(h *health) { h.saw(head, time.Now()) })
}

// tells notes whether a node knows the block of our finality, and says whether that is news.
func (p *pool) tells(n *node, ok bool) (news bool) {
	p.note(n, func(h *health) { news, h.tagless = h.tagless == ok, !ok })
	return news
}

// best is the highest block that a node of our chain has shown lately.
func (p *pool) best(now time.Time) (best uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.nodes {
		if !n.foreign && now.Sub(n.headAt) < headKeep {
			best = max(best, n.head)
		}
	}
	return best
}

// others says whether more than the nodes asked are open.
func (p *pool) others(now time.Time, asked []*node) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.nodes, func(n *node) bool { return n.open(now) && !slices.Contains(asked, n) })
}

// probeWait is how soon to ask again while one call finds out how a node is.
const probeWait = 250 * time.Millisecond

// rest is for how long no node may be called: 0 when one may. calm is that too, where nodes asked for fewer calls and no
// other node works.
func (p *pool) rest(now time.Time) (rest, calm time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.nodes {
		switch {
		case n.foreign:
			continue
		case n.open(now):
			return 0, 0
		}
		wait := n.until.Sub(now)
		if wait <= 0 {
			wait = probeWait
		}
		rest = sooner(rest, wait)
		if n.limited {
			calm = sooner(calm, wait)
		}
	}
	return rest, calm
}

// sooner is the shorter of two times, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

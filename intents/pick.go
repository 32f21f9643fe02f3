package intents

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Scopes are all that may give a number, Scope first.
func (p Plan) Scopes() []string { return append([]string{p.Scope}, p.Others...) }

// Ranked gives the scopes in the order in which a lane wants them, so that all its intents go through one signer as long
// as that one goes on; without a lane as they are. A lane keeps its signer when others come or leave, unless it is the new
// one that ranks first (rendezvous hashing).
func (p Plan) Ranked(lane string) []string {
	scopes := p.Scopes()
	if lane == "" {
		return scopes
	}
	slices.SortStableFunc(scopes, func(a, b string) int { return cmp.Compare(rank(lane, b), rank(lane, a)) })
	return scopes
}

// rank is the same in every process and version: who has a lane depends on it.
func rank(lane, scope string) uint64 {
	sum := sha256.Sum256([]byte(lane + "\x00" + scope))
	return binary.BigEndian.Uint64(sum[:])
}

// Pick chooses whose number a claim takes, of those that known gives: a lane's first that is not frozen, whether it has
// room or not; without a lane the one with most room, of equals the first. Where all are frozen it is one of those. nil:
// none is known.
func (p Plan) Pick(lane string, known func(scope string) *Signer) *Signer {
	var best *Signer
	for _, scope := range p.Ranked(lane) {
		sg := known(scope)
		switch {
		case sg == nil:
		case best == nil, best.Frozen != "" && sg.Frozen == "":
			best = sg
		case lane == "" && sg.Frozen == "" && sg.Room() > best.Room():
			best = sg
		}
	}
	return best
}

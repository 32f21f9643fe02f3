package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/nsqrelayer/relayer/intents"
)

// judge looks at everything when no relayer runs any more.
func (s *soak) judge(ctx context.Context) (verdict, error) {
	for range 4 { // what still waits in the node's pool has its effect before effects are counted
		s.stack.chain.Mine()
	}
	lines, err := s.stack.store.Audit(ctx)
	if err != nil {
		return verdict{}, err
	}
	for _, line := range lines {
		s.complain("audit: " + line)
	}
	letters, err := s.stack.store.DeadLetters(ctx, mostShown)
	if err != nil {
		return verdict{}, err
	}
	for _, l := range letters {
		s.complain(fmt.Sprintf("dead letter in %s: %s, %s", l.Topic, l.Reason, l.Detail))
	}
	b := books{begun: s.load.all()}
	if b.rows, err = s.rows(ctx); err != nil {
		return verdict{}, err
	}
	if b.effects, err = s.effects(ctx, b.begun); err != nil {
		return verdict{}, err
	}
	return b.judge(), nil
}

// rows reads all intents, by id.
func (s *soak) rows(ctx context.Context) (map[string]intents.Intent, error) {
	rows := map[string]intents.Intent{}
	f := intents.Filter{Limit: 1000}
	for {
		page, err := s.stack.store.List(ctx, f)
		if err != nil || len(page) == 0 {
			return rows, err
		}
		for _, in := range page {
			rows[in.ID] = in
		}
		f.Before = page[len(page)-1].Key
	}
}

// effects counts what happened by intent, at the chain and at the provider themselves.
func (s *soak) effects(ctx context.Context, begun []intents.Intent) (map[string]int, error) {
	var dests []string
	for _, in := range begun {
		if in.Route == payouts {
			dests = append(dests, in.Destination)
		}
	}
	onChain, err := s.stack.chain.Effects(ctx, dests)
	if err != nil {
		return nil, err
	}
	effects := maps.Clone(s.stack.provider.Effects())
	for _, in := range begun {
		if in.Route == payouts {
			effects[in.ID] += onChain[in.Destination]
		}
	}
	return effects, nil
}

// mostShown is how many findings are printed, and how many timelines are kept.
const mostShown = 50

// tell prints what happened, and keeps the timelines of what is wrong.
func (s *soak) tell(ctx context.Context, v verdict) {
	s.screen.say("faults: %d: %s", s.mischief.total(), wrap(tally(s.mischief.counts), "  "))
	ends := map[string]int{}
	for _, w := range s.workers {
		for how, n := range w.ends {
			ends[how] += n
		}
	}
	s.screen.say("processes: %s", tally(ends))
	s.screen.say("intents: %d did not go the plain way", v.detours)
	for i, f := range v.wrong {
		if i == mostShown {
			s.screen.say("wrong: and %d more", len(v.wrong)-mostShown)
			break
		}
		s.screen.say("wrong: %s %s; timeline in %s", f.id, f.what, s.timeline(ctx, f.id))
	}
}

// timeline keeps what relayer get tells of an intent, and says where.
func (s *soak) timeline(ctx context.Context, id string) string {
	dir := filepath.Join(s.dir, "timelines")
	file := filepath.Join(dir, id+".txt")
	cmd := exec.CommandContext(ctx, s.options.relayer, "get", id, "--config", s.stack.config)
	cmd.Env = childEnv()
	told, err := cmd.CombinedOutput()
	if err != nil {
		told = append(told, err.Error()...)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err.Error()
	}
	if err := os.WriteFile(file, told, 0o600); err != nil {
		return err.Error()
	}
	return file
}

package evm_test

import (
	"encoding/json"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// TestForeignAgreed: what used a number is believed when two nodes show the same block. One that stands on a fork of its
// own, and would have a payment made again that the others' chain holds, is not.
func TestForeignAgreed(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	in, a := prepared(t, open(t, config(t, c.URL)), 0)
	outside(t, c, 0, stranger, 77)
	for range 3 {
		c.Mine()
	}
	fork := func(method string, r json.RawMessage) json.RawMessage {
		if method != "eth_getBlockByNumber" {
			return r
		}
		var b map[string]json.RawMessage
		_ = json.Unmarshal(r, &b)
		b["hash"] = json.RawMessage(`"0x00000000000000000000000000000000000000000000000000000000000000f0"`)
		out, _ := json.Marshal(b)
		return out
	}
	blind := func(method string, r json.RawMessage) json.RawMessage {
		if method == "eth_getBlockByNumber" {
			return json.RawMessage("null")
		}
		return r
	}
	same := func(_ string, r json.RawMessage) json.RawMessage { return r }
	for name, tt := range map[string]struct {
		others []func(string, json.RawMessage) json.RawMessage
		dead   bool
	}{
		"two agree":                     {[]func(string, json.RawMessage) json.RawMessage{same}, true},
		"two disagree":                  {[]func(string, json.RawMessage) json.RawMessage{fork}, false},
		"the other has no block there":  {[]func(string, json.RawMessage) json.RawMessage{blind}, false},
		"one has none, the next agrees": {[]func(string, json.RawMessage) json.RawMessage{blind, same}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, c.URL)
			for _, o := range tt.others {
				cfg.Endpoints = append(cfg.Endpoints, evm.Endpoint{URL: rewriting(t, c.URL, o)})
			}
			s := open(t, cfg)
			believed := false
			for range 2 * len(s.Scopes()) * (1 + len(tt.others)) { // whoever is asked first
				o := observe(t, s, watch(in, a))
				believed = believed || o.Fact == intents.Dead
				if o.Fact == intents.Dead && (o.Foreign == nil || !tt.dead) {
					t.Errorf("dead by %+v: %s", o.Foreign, o.Evidence)
				}
			}
			if believed != tt.dead {
				t.Errorf("believed %t, want %t", believed, tt.dead)
			}
		})
	}
}

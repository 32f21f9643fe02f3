package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// Engine gives a route's settings as the engine takes them. Owner and Logger are for the caller.
func (c Config) Engine(name string) relayer.Config {
	r := c.Routes[name]
	return relayer.Config{
		Route: name, Topic: r.Topic, Concurrency: r.Concurrency, Weight: r.sendCost(), Metered: r.metered(), ObserveMost: r.observeMost(), AcceptFull: r.Accept == "full", Assets: r.Assets,
		PlanTimeout: r.PlanTimeout, PrepareTimeout: r.PrepareTimeout, SubmitTimeout: r.SubmitTimeout, StoreTimeout: r.StoreTimeout,
		DrainTimeout: c.DrainTimeout, ReviewAfter: r.ReviewAfter, ConfirmAfter: r.ConfirmAfter,
		WaitForFunds: r.InsufficientFunds == "wait",
	}
}

// Config gives the settings as a throttle takes them.
func (t Throttle) Config() relayer.ThrottleConfig {
	return relayer.ThrottleConfig{PerSecond: rate.Limit(t.PerSecond), Burst: t.Burst, InFlight: t.InFlight, ReadShare: t.ReadShare}
}

func (v *validator) route(name string, r *Route) {
	at := "routes." + name + "."
	v.check(r.Sender == "evm" || r.Sender == "webhook", at+"sender", r.Sender, "evm or webhook")
	v.check(r.Topic == "" || isTopic(r.Topic), at+"topic", r.Topic, "1 to 64 of . a-z A-Z 0-9 _ -")
	v.check(isTopic(r.Channel), at+"channel", r.Channel, "1 to 64 of . a-z A-Z 0-9 _ -")
	v.check(r.Accept == "reference" || r.Accept == "full", at+"accept", r.Accept, "reference or full")
	v.check(r.InsufficientFunds == "fail" || r.InsufficientFunds == "wait", at+"insufficient-funds", r.InsufficientFunds, "fail or wait")
	most := cmp.Or(v.cfg.NSQ.MaxMsgTimeout, maxMsgTimeout)
	v.check(minMsgTimeout <= r.MsgTimeout && r.MsgTimeout <= most, at+"msg-timeout", r.MsgTimeout,
		fmt.Sprintf("%s to %s, nsqd's --max-msg-timeout (nsq.max-msg-timeout here)", minMsgTimeout, most))
	v.engine(name)
	v.throttle(at+"throttle.", r.Throttle)
	v.units(at, r)
	v.broken(at)
	switch r.Sender {
	case "evm":
		v.evm(at, r)
		v.pace(at, r.EVM)
		v.foreign(at, reflect.TypeFor[Webhook](), r.Sender)
	case "webhook":
		v.webhook(at, r.Webhook)
		v.foreign(at, reflect.TypeFor[EVM](), r.Sender)
	}
}

func isTopic(s string) bool {
	return len(s) <= 64 && regexp.MustCompile(`^[.a-zA-Z0-9_-]+(#ephemeral)?$`).MatchString(s)
}

// engine lets the engine judge its own settings and gives them the paths they have here.
func (v *validator) engine(name string) {
	for _, err := range parts(v.cfg.Engine(name).Validate()) {
		bad, ok := errors.AsType[*intents.InvalidError](err)
		if !ok {
			v.errs = append(v.errs, err)
			continue
		}
		path, want := "routes."+name+"."+bad.Field, bad.Want
		if bad.Field == "drain-timeout" {
			path, want = bad.Field, bad.Want+" of routes."+name
		}
		v.check(false, path, bad.Value, want)
	}
}

func (v *validator) throttle(at string, t Throttle) {
	v.check(t.PerSecond != 0 || v.cfg.from[at+"per-second"] != "", at+"per-second", "", t.PerSecond.want())
	limits := t.Config()
	bad, ok := errors.AsType[*relayer.ThrottleConfigError](limits.Validate())
	if ok && (bad.Field != "per-second" || v.cfg.from[at+"per-second"] != "") {
		v.check(false, at+bad.Field, bad.Value, bad.Want)
	}
	_, heavy := errors.AsType[*relayer.WeightError](limits.Fits(t.Cost))
	v.check(!heavy, at+"cost", t.Cost, fmt.Sprintf("1 to the burst of %d, or it can never pass", t.Burst))
}

// broken reports the secrets of a route that could not be read.
func (v *validator) broken(at string) {
	for _, path := range slices.Sorted(maps.Keys(v.cfg.broken)) {
		if strings.HasPrefix(path, at) {
			v.add(path, v.cfg.broken[path])
		}
	}
}

func (v *validator) evm(at string, r *Route) {
	e := r.EVM
	for _, asset := range r.Assets { // a token nobody named a contract for must not be paid in the coin's smallest unit
		_, token := e.Tokens[asset]
		v.check(token || asset == e.Coin, at+"assets", asset, "the coin ("+e.Coin+") or one of tokens")
	}
	v.endpoints(at, e)
	v.check(e.ChainID > 0, at+"chain-id", e.ChainID, "the chain's id")
	v.signer(at, e)
}

func (v *validator) webhook(at string, w Webhook) {
	v.url(at+"url", w.URL, "http", "https")
	v.check(w.KeyRetention > 0 || !w.Idempotent, at+"key-retention", "", "how long the other side remembers a key, where idempotent = true")
}

// url wants a secret to be a URL, unless it could not be read, which is another error. It shows no more than its host.
func (v *validator) url(path string, s Secret, schemes ...string) {
	if v.unread(path) {
		return
	}
	u, err := url.Parse(s.Reveal())
	v.check(err == nil && slices.Contains(schemes, u.Scheme) && u.Host != "", path, s.String(),
		"a URL of "+strings.Join(schemes, ", "))
}

// unread says whether a secret is set that could not be read.
func (v *validator) unread(path string) bool {
	return v.cfg.broken[path+fileTwin] != nil || v.cfg.broken[path+envTwin] != nil
}

// pace checks how fees are found and raised, and what is final. Zero is the sender's default.
func (v *validator) pace(at string, e EVM) {
	v.check(slices.Contains([]string{"", "depth", "safe", "finalized"}, e.Finality), at+"finality", e.Finality, "depth, safe or finalized")
	v.check(e.FeePercentile >= 0 && e.FeePercentile <= 100, at+"fee-percentile", e.FeePercentile, "above 0, at most 100")
	v.check(e.SendBatch <= 100, at+"send-batch", e.SendBatch, "1 to 100")
	v.check(e.BumpPercent == 0 || e.BumpPercent >= 10 && e.BumpPercent <= 1000, at+"bump-percent", e.BumpPercent, "10, which pools ask for, to 1000")
}

// foreign refuses settings of a sender that the route does not have: they would do nothing.
func (v *validator) foreign(at string, t reflect.Type, sender string) {
	for field := range t.Fields() {
		path := at + field.Tag.Get("toml")
		if v.cfg.from[path] != "" {
			v.add(path, &intents.InvalidError{Field: path, Value: hidden, Want: "nothing: a route of sender " + sender + " has no such setting"})
		}
	}
}

// parts takes joined errors apart.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

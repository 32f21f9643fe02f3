package desk

import (
	"context"
	"fmt"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// Door is a route as those meet it who create intents.
type Door struct {
	Route, Topic string
	Assets       []string // what may be sent; empty: whatever the sender knows
	// Canonical gives an intent as the route's sender stores and compares it. It asks nobody. Errors: *intents.InvalidError.
	Canonical func(in intents.Intent) (intents.Intent, error)
}

// Admit makes an intent one of the route. Errors: *intents.InvalidError, joined where there are several: it can be none.
func (d Door) Admit(in intents.Intent) (intents.Intent, error) {
	in.Route = d.Route
	if err := in.Validate(); err != nil {
		return in, err
	}
	if len(d.Assets) > 0 && !slices.Contains(d.Assets, in.Asset) {
		return in, &intents.InvalidError{Field: "asset", Value: in.Asset, Want: fmt.Sprintf("one of %v, the assets of route %s", d.Assets, d.Route)}
	}
	return d.Canonical(in)
}

// Ripe says whether an intent may be sent now, so that workers should be told of it.
func Ripe(in intents.Intent) bool {
	return in.State == intents.Authorized && !in.NotBefore.After(in.ReadAt)
}

// Announce publishes a reference to an intent. Nothing is lost where that fails: the sweeper publishes it.
// Errors: those of the publisher.
func Announce(ctx context.Context, p Publisher, topic, id string) error {
	body, err := intents.EncodeReference(id)
	if err != nil {
		return err
	}
	return publish(ctx, p, topic, body)
}

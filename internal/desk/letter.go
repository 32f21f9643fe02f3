package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Letters finds what could not become an intent.
type Letters interface {
	// FindDeadLetters reads dead letters whose hash, in hexadecimal digits, begins as given, newest first.
	FindDeadLetters(ctx context.Context, start string, most int) ([]intents.BuriedLetter, error)
}

// mostAlike is how many dead letters of one beginning are looked at: a hash may have been buried for several reasons.
const mostAlike = 100

// FindLetter finds a dead letter by the start of its hash: of one body the newest. Errors: *LetterError.
func FindLetter(ctx context.Context, l Letters, start string) (intents.BuriedLetter, error) {
	found, err := l.FindDeadLetters(ctx, start, mostAlike)
	if err != nil {
		return intents.BuriedLetter{}, err
	}
	hashes := map[[32]byte]bool{}
	for _, one := range found {
		hashes[one.Hash] = true
	}
	if len(hashes) != 1 {
		return intents.BuriedLetter{}, &LetterError{start, len(hashes)}
	}
	return found[0], nil
}

// Getter reads intents.
type Getter interface {
	// Get reads one intent. Errors: intents.ErrNotFound.
	Get(ctx context.Context, id string) (intents.Intent, error)
}

// Canon gives an intent of a route as the route's sender stores and compares it; as it is where the route is not known.
type Canon func(route string, in intents.Intent) intents.Intent

// Replay publishes a dead letter's body again. Where its id is known with the same content it publishes nothing, since the
// message would change nothing, and silently (case 108): known is that intent then, else the zero one.
// Errors: *CutError, *BadLetterError, *TakenError; intents.ErrUnavailable where it cannot be published.
func Replay(ctx context.Context, g Getter, p Publisher, canon Canon, l intents.BuriedLetter) (m intents.Message, known intents.Intent, err error) {
	if l.Size > len(l.Body) {
		return m, known, &CutError{len(l.Body), l.Size}
	}
	if m, err = intents.Decode(l.Body); err != nil {
		return m, known, &BadLetterError{err}
	}
	if m.Full {
		known, err = suppressed(ctx, g, canon, l, m)
		if err != nil || known.ID != "" {
			return m, known, err
		}
	}
	if err := publish(ctx, p, l.Topic, l.Body); err != nil {
		return m, known, fmt.Errorf("publish: %w: %w", intents.ErrUnavailable, err)
	}
	return m, known, nil
}

// suppressed tells when an id is known already.
func suppressed(ctx context.Context, g Getter, canon Canon, l intents.BuriedLetter, m intents.Message) (intents.Intent, error) {
	in, err := g.Get(ctx, m.ID)
	if errors.Is(err, intents.ErrNotFound) {
		return intents.Intent{}, nil
	}
	if err != nil {
		return in, err
	}
	m.Intent.Route = l.Route
	m.Intent = canon(l.Route, m.Intent)
	if in.CreatedAt.IsZero() || in.Account == "" || in.Route == l.Route && in.Hash() == m.Intent.Hash() { // of a pruned one nothing is left to compare
		return in, nil
	}
	return in, &TakenError{in}
}

// Publisher puts messages into NSQ.
type Publisher interface {
	// Publish returns an error unless an nsqd has confirmed the message. It never outlasts ctx.
	Publish(ctx context.Context, topic string, body []byte) error
}

// publishFor bounds the publishing of one message.
const publishFor = 10 * time.Second

func publish(ctx context.Context, p Publisher, topic string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, publishFor)
	defer cancel()
	return p.Publish(ctx, topic, body)
}

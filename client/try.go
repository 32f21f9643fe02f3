package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/wire"
)

const (
	pauseFirst = 100 * time.Millisecond
	pauseLast  = 5 * time.Second
	mostAfter  = time.Hour // of what is believed of a Retry-After
	maxAnswer  = 1 << 20   // bytes of an answer that are read
)

// errPatience is why no more is tried.
var errPatience = errors.New("out of patience")

// try asks until there is an answer that counts. make makes the request of each try.
func (c *Client) try(ctx context.Context, make func(context.Context) (*http.Request, error)) (intents.View, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, errPatience)
	defer cancel()
	pause := pauseFirst
	for tries := 1; ; tries++ {
		in, err := c.once(ctx, make)
		if err == nil {
			return in, nil
		}
		wait := pause/2 + rand.N(pause/2)
		if e, ok := errors.AsType[*ProblemError](err); ok {
			if !e.passing() {
				e.Final = tries == 1 && e.Code != "" && e.Status < http.StatusInternalServerError
				return in, err
			}
			wait = max(wait, e.after)
		}
		if end, ok := ctx.Deadline(); ok && time.Now().Add(wait).After(end) { // not to be waited for in vain
			return in, fmt.Errorf("gave up after %d tries: %w: %w", tries, late(ctx), err)
		}
		if cause := sleep(ctx, wait); cause != nil {
			return in, fmt.Errorf("gave up after %d tries: %w: %w", tries, cause, err)
		}
		pause = min(2*pause, pauseLast)
	}
}

// late says why ctx ends soon, or has ended.
func late(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return context.DeadlineExceeded
}

// once asks once. Errors: *ProblemError for an answer; any other: there was none, or not a whole one.
func (c *Client) once(ctx context.Context, make func(context.Context) (*http.Request, error)) (in intents.View, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := make(ctx)
	if err != nil {
		return in, err
	}
	req.Header.Set("Accept", "application/json")
	c.dress(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return in, &quietError{c.hide(err.Error()), err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 != 2 {
		return in, c.problem(resp.StatusCode, body, wire.RetryAfter(resp.Header, time.Now(), mostAfter))
	}
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil {
		return intents.View{}, fmt.Errorf("relayer: the answer cannot be read: %w", err)
	}
	return in, nil
}

// quietError is an error whose text shows no token: a transport may put anything into it.
type quietError struct {
	text string
	err  error
}

func (e *quietError) Error() string { return e.text }

// Unwrap lets types be told, such as a context's end.
func (e *quietError) Unwrap() error { return e.err }

// Package api serves intents over HTTP: JSON in and out, problem+json for what went wrong, bearer tokens with scopes. It
// decides nothing by itself: what people do about intents is done by package desk, everything else by the store.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// Config is what the API stands on. Store and Other are required.
type Config struct {
	Store  Store
	Doors  map[string]desk.Door // the routes that intents may be created on, by name
	Canon  desk.Canon           // as replayed dead letters are compared. Default: as they are
	Looker string               // who stands in timelines for what Other writes

	// Other gives the other side of a route. Errors: *intents.InvalidError where there is no such route; any other: not now.
	Other func(ctx context.Context, route string) (desk.Other, error)

	// Publisher tells workers of what was created. Default none: the sweeper publishes it. Errors are logged.
	Publisher desk.Publisher

	Loopback bool                // only this machine can reach it: a Host header that names another is refused
	Redact   func(string) string // takes secrets out of what is shown. Default: nothing is taken out
	Logger   *slog.Logger        // Default none
	Ending   <-chan struct{}     // closed when streams are to end. Default never

	Rate  rate.Limit // requests a second for each token. Default 50
	Burst int        // Default 100

	Timeout   time.Duration // for all that a request asks of others. Default 10s
	Follow    time.Duration // how often streams look for events. Default 500ms
	KeepAlive time.Duration // how often a stream without events writes a comment. Default 15s
	Streams   int           // at a time. Default 32
	Trust     time.Duration // how long what is known of a token is believed. Default 10s

	Now func() time.Time // Default time.Now
}

func (c Config) withDefaults() Config {
	c.Rate, c.Burst = cmp.Or(c.Rate, 50), cmp.Or(c.Burst, 100)
	c.Timeout, c.Follow = cmp.Or(c.Timeout, 10*time.Second), cmp.Or(c.Follow, 500*time.Millisecond)
	c.KeepAlive, c.Streams, c.Trust = cmp.Or(c.KeepAlive, 15*time.Second), cmp.Or(c.Streams, 32), cmp.Or(c.Trust, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Redact == nil {
		c.Redact = func(text string) string { return text }
	}
	if c.Canon == nil {
		c.Canon = func(_ string, in intents.Intent) intents.Intent { return in }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// maxBody is the most bytes of a request's body.
const maxBody = 64 << 10

type api struct {
	cfg     Config
	huma    huma.API
	tokens  *tokens
	limits  *limits
	herald  *herald
	streams chan struct{}
	tally   tally
}

// New gives the handler for /v1/ and /openapi.json.
func New(cfg Config) (http.Handler, error) {
	cfg = cfg.withDefaults()
	a := &api{cfg: cfg, tokens: newTokens(cfg), limits: newLimits(cfg), herald: &herald{cfg: cfg}, streams: make(chan struct{}, cfg.Streams)}
	mux := http.NewServeMux()
	a.huma = humago.New(mux, a.settings())
	a.huma.UseMiddleware(a.admit)
	a.register()
	spec, err := a.spec()
	if err != nil {
		return nil, err
	}
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(spec) // who asked has gone
	})
	mux.HandleFunc("/v1/", a.nothing)
	return a.guard(mux), nil
}

// settings are huma's, without what it would add: a page that loads scripts from elsewhere, $schema in answers.
func (a *api) settings() huma.Config {
	c := huma.DefaultConfig("relayer", "1")
	c.OpenAPIPath, c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", "", nil
	c.RejectUnknownQueryParameters = true
	c.Transformers = []huma.Transformer{a.transform}
	c.Info.Description = "Payment intents: create, look, decide. Amounts are strings of digits in the smallest unit; times are RFC 3339."
	c.Info.License = &huma.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "Made by relayer token create. On loopback, none is asked for until one was made."},
	}
	return c
}

// spec is the OpenAPI description. Answers may get more fields some day, requests have these alone; huma's own form of errors
// is never answered.
func (a *api) spec() ([]byte, error) {
	asked := map[string]bool{}
	for _, item := range a.huma.OpenAPI().Paths {
		if item.Post != nil && item.Post.RequestBody != nil {
			asked[path.Base(item.Post.RequestBody.Content["application/json"].Schema.Ref)] = true
		}
	}
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	for name, s := range schemas {
		if !asked[name] && s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
	}
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	b, err := json.MarshalIndent(a.huma.OpenAPI(), "", "  ")
	return append(b, '\n'), err
}

// OpenAPI gives the description of the API as /openapi.json serves it.
func OpenAPI() ([]byte, error) {
	a := &api{cfg: Config{}.withDefaults()}
	a.huma = humago.New(http.NewServeMux(), a.settings())
	a.register()
	return a.spec()
}

// nothing answers for paths that are none.
func (a *api) nothing(w http.ResponseWriter, r *http.Request) {
	a.send(w, r, newProblem(codeNoResource, r.Method+" "+r.URL.Path+" is not served here"))
}

type actorKey struct{}

// actorOf is who asks: the token's name.
func actorOf(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}

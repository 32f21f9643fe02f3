package client_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"

	_ "github.com/lib/pq"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/api"
	"github.com/nsqrelayer/relayer/internal/desk"
	devnsq "github.com/nsqrelayer/relayer/internal/devstack/nsq"
	"github.com/nsqrelayer/relayer/internal/postgres"
	"github.com/nsqrelayer/relayer/nsqworker"
)

// stand is a relayer as publishers meet it: its database, its API, and an nsqd. Examples have no testing.T, so there is one for
// all, which ends with the process.
type stand struct {
	URL, Token string         // of the API
	DB         *sql.DB        // a publisher's own pool, on the relayer's database
	NSQD       string         // its TCP address
	Store      *pgstore.Store // what the relayer sees
	Publisher  *nsqworker.Publisher

	ends []func()
}

var open = sync.OnceValue(func() *stand {
	s, err := start(context.Background())
	if err != nil {
		s.end()
		panic(err) // no test could run
	}
	return s
})

func TestMain(m *testing.M) {
	code := func() int {
		s := open()
		defer s.end()
		return m.Run()
	}()
	os.Exit(code)
}

func (s *stand) end() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
}

func (s *stand) later(end func()) { s.ends = append(s.ends, end) }

func start(ctx context.Context) (s *stand, err error) {
	s = &stand{}
	dsn, err := s.postgres(ctx)
	if err != nil {
		return s, err
	}
	if s.DB, err = sql.Open("postgres", dsn); err != nil {
		return s, err
	}
	s.later(func() { _ = s.DB.Close() })
	if s.Store, err = pgstore.Open(ctx, pgstore.Config{DSN: dsn, Actor: "worker"}); err != nil {
		return s, err
	}
	s.later(s.Store.Close)
	if err := s.queue(ctx); err != nil {
		return s, err
	}
	secret := intents.NewSecret()
	s.Token = secret
	if _, err := s.Store.CreateToken(ctx, intents.Token{Name: "shop", Scopes: []intents.Scope{intents.ScopeRead, intents.ScopeSubmit}, CreatedBy: "test"}, intents.HashSecret(secret)); err != nil {
		return s, err
	}
	return s, s.serve()
}

func (s *stand) postgres(ctx context.Context) (dsn string, err error) {
	bin, err := postgres.Find("")
	if err != nil {
		return "", err
	}
	server, err := postgres.Start(ctx, postgres.Config{Binaries: bin, NoSync: true})
	if err != nil {
		return "", err
	}
	s.later(func() { _ = server.Stop() })
	_, err = pgstore.Migrate(ctx, server.DSN("postgres"), nil)
	return server.DSN("postgres"), err
}

func (s *stand) queue(ctx context.Context) error {
	q, err := devnsq.Start(ctx, devnsq.Config{})
	if err != nil {
		return err
	}
	s.later(func() { _ = q.Stop() })
	s.NSQD = q.NSQDTCP
	if s.Publisher, err = nsqworker.NewPublisher(nsqworker.PublisherConfig{NSQDs: []string{s.NSQD}}); err != nil {
		return err
	}
	s.later(s.Publisher.Close)
	return nil
}

// serve serves the API for one route, as relayer run would.
func (s *stand) serve() error {
	h, err := api.New(api.Config{
		Store: s.Store, Publisher: s.Publisher, Looker: "worker", Rate: 1e6, Burst: 1e6,
		Doors: map[string]desk.Door{"payouts": {Route: "payouts", Topic: "intents.payouts", Assets: []string{"ETH"},
			Canonical: func(in intents.Intent) (intents.Intent, error) { return in, nil }}},
		Other: func(_ context.Context, route string) (desk.Other, error) {
			return nil, &intents.InvalidError{Field: "route", Value: route, Want: "a route"}
		},
	})
	if err != nil {
		return err
	}
	server := httptest.NewServer(h)
	s.later(server.Close)
	s.URL = server.URL
	return nil
}

// fresh is an id that no run of a test had before.
func fresh(name string) string { return name + "_" + rand.Text() }

func payment(id string) intents.Intent {
	return intents.Intent{ID: id, Route: "payouts", Account: "acct_1", Destination: "0x52908400098527886E0F7030069857D2E4169EE7",
		Asset: "ETH", Amount: intents.NewAmount(1000)}
}

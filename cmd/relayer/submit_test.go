package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/postgres"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// fake is a store and a publisher that can be down.
type fake struct {
	*memstore.Store
	keeper // what no test here asks for
	roster

	recoverer // never asked
	counter   // never asked

	mu        sync.Mutex
	published []string
	publish   error // what every Publish says
	create    func(n int) error
	creates   int
	get       func() error
}

func (f *fake) Close() {}

func (f *fake) Publish(_ context.Context, topic string, body []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.published = append(f.published, topic+" "+string(body))
	return f.publish
}

func (f *fake) Create(ctx context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error) {
	f.mu.Lock()
	f.creates++
	n := f.creates
	f.mu.Unlock()
	if f.create != nil && f.create(n) != nil {
		return intents.Intent{}, f.create(n)
	}
	return f.Store.Create(ctx, in, authorize, actor)
}

func (f *fake) Get(ctx context.Context, id string) (intents.Intent, error) {
	if f.get != nil {
		if err := f.get(); err != nil {
			return intents.Intent{}, err
		}
	}
	return f.Store.Get(ctx, id)
}

// relay runs the program with fakes outside.
func relay(t *testing.T, f *fake, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("RELAYER_DATABASE_URL", "postgres://fake/fake")
	t.Setenv("RELAYER_NSQD_TCP_ADDRESS", "127.0.0.1:4150")
	p := parts{
		open:      func(context.Context, string, string, *slog.Logger) (store, error) { return f, nil },
		publisher: func(config.NSQ, *slog.Logger) (publisher, error) { return f, nil },
		canonical: canonical,
	}
	var out, errs bytes.Buffer
	args = append(args, "--set", "routes.webhooks.sender=webhook", "--set", "routes.webhooks.topic=intents.webhooks")
	code = run(args, strings.NewReader(stdin), &out, &errs, p)
	return code, out.String(), errs.String()
}

func newFake() *fake { return &fake{Store: memstore.New(memstore.Config{})} }

// ndjson makes n intents, a line each.
func ndjson(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"v":1,"id":"pi_%04d","account":"acct_1","destination":"x","asset":"EUR","amount":"1"}`+"\n", i)
	}
	return b.String()
}

func TestSubmitPublishesReferencesOfWhatMayBeSent(t *testing.T) {
	f := newFake()
	body := ndjson(2) + `{"v":1,"id":"pi_later","account":"a","destination":"x","asset":"EUR","amount":"1","not_before":"2099-01-01T00:00:00Z"}` + "\n"
	code, _, stderr := relay(t, f, body, "submit")
	if code != 0 || !strings.HasPrefix(stderr, "submitted 3 in ") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	slices.Sort(f.published)
	want := []string{`intents.webhooks {"v":1,"intent_id":"pi_0000"}`, `intents.webhooks {"v":1,"intent_id":"pi_0001"}`}
	if !slices.Equal(f.published, want) {
		t.Errorf("published %q, want %q", f.published, want)
	}
}

func TestSubmitCreatedPublishesNothing(t *testing.T) {
	f := newFake()
	if code, _, stderr := relay(t, f, ndjson(2), "submit", "--created"); code != 0 || len(f.published) != 0 {
		t.Errorf("exit %d, published %q: %s", code, f.published, stderr)
	}
}

// TestSubmitGivesUpOnNSQ: an NSQ that does not answer is not asked for each of many intents, and is complained of once.
func TestSubmitGivesUpOnNSQ(t *testing.T) {
	f := newFake()
	f.publish = errors.New("no nsqd known")
	code, _, stderr := relay(t, f, ndjson(500), "submit")
	if code != 0 || !strings.Contains(stderr, "submitted 500 in ") || !strings.Contains(stderr, "(500 left to the sweeper)") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if n := strings.Count(stderr, "no nsqd known"); n != 1 {
		t.Errorf("complained %d times: %s", n, stderr)
	}
	if n := len(f.published); n < giveUp || n > giveUp+submitters {
		t.Errorf("tried %d times, want about %d", n, giveUp)
	}
}

// TestSubmitStopsWhenTheStoreIsDown: exit 5, also where bad lines are skipped, and what was stored is said.
func TestSubmitStopsWhenTheStoreIsDown(t *testing.T) {
	f := newFake()
	f.create = func(n int) error {
		if n > 100 {
			return fmt.Errorf("create: %w", intents.ErrUnavailable)
		}
		return nil
	}
	code, _, stderr := relay(t, f, ndjson(1000), "submit", "--skip-bad")
	if code != exitDown || !strings.Contains(stderr, "submitted 100 in ") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if f.creates > 101+2*submitters {
		t.Errorf("went on for %d intents", f.creates-101)
	}
}

func TestSubmitAgainAfterItBrokeOff(t *testing.T) {
	f := newFake()
	f.create = func(n int) error {
		if n == 5 {
			return intents.ErrUnavailable
		}
		return nil
	}
	if code, _, stderr := relay(t, f, ndjson(10), "submit"); code != exitDown {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	code, _, stderr := relay(t, f, ndjson(10), "submit")
	if code != 0 || !strings.Contains(stderr, "submitted 10 in ") || !strings.Contains(stderr, "already known") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if counts, _ := f.Count(t.Context(), ""); counts[intents.Authorized] != 10 {
		t.Errorf("stored %v", counts)
	}
}

func TestWaitOutlivesAStoreThatIsDownForAWhile(t *testing.T) {
	f := newFake()
	n := 0
	f.get = func() error {
		if n++; n < 3 {
			return intents.ErrUnavailable
		}
		_, err := f.Store.Cancel(t.Context(), "pi_0000", "tester")
		return err
	}
	code, stdout, stderr := relay(t, f, ndjson(1), "submit", "--wait", "--timeout", "1m")
	if code != exitBadEnd || stdout != "pi_0000  canceled  v3  operator\n" {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestWaitThatNeverReachesTheStoreIsADependency(t *testing.T) {
	f := newFake()
	f.get = func() error { return intents.ErrUnavailable }
	code, _, stderr := relay(t, f, ndjson(1), "submit", "--wait", "--timeout", "200ms")
	if code != exitDown {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestOneBadEndOutweighsTheWait(t *testing.T) {
	f := newFake()
	f.get = func() error {
		_, err := f.Store.Cancel(t.Context(), "pi_0000", "tester")
		return err
	}
	code, _, stderr := relay(t, f, ndjson(2), "submit", "--wait", "--timeout", "200ms")
	if code != exitBadEnd || !strings.Contains(stderr, "1 of 2 ended failed") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestLongInputIsSentAsItIsRead: it is not known whole, so a bad line ends it where it stands.
func TestLongInputIsSentAsItIsRead(t *testing.T) {
	text := ndjson(3) + "{}\n" + ndjson(4)
	same := func(in intents.Intent) (intents.Intent, error) { return in, nil }
	var said []string
	in, err := readInput(io.NopCloser(strings.NewReader(text)), 100, same, false, func(s string) { said = append(said, s) })
	if err != nil || in.total != -1 || len(said) != 1 {
		t.Fatalf("got %d, %v, said %q", in.total, err, said)
	}
	defer in.close()
	var got []string
	for o, err := range in.orders {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, fmt.Sprintf("%d %s", o.line, o.in.ID))
	}
	want := []string{"1 pi_0000", "2 pi_0001", "3 pi_0002", `line 4: v: "" is invalid, want a value (missing)`, "5 pi_0000", "6 pi_0001", "7 pi_0002", "8 pi_0003"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestLinesThatAreNoIntents(t *testing.T) {
	same := func(in intents.Intent) (intents.Intent, error) { return in, nil }
	good := strings.TrimSuffix(ndjson(1), "\n")
	tests := []struct{ name, text, want string }{
		{"longer than any body", strings.Repeat("x", 300<<10) + "\n" + good, "line 1: message body has 65538 bytes, at most 65536 are read"},
		{"no newline at the end", good, ""},
		{"Windows line ends", good + "\r\n", ""},
		{"no UTF-8", "\xff\xfe\n", `line 1: body: "\xff\xfe" is invalid, want UTF-8`},
		{"an array", "[]\n", "line 1: body"},
		{"after empty lines", "\n \n{\n", "line 3: body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			for _, err := range readOrders(strings.NewReader(tt.text), same) {
				if n++; n > 1 {
					if err != nil {
						t.Errorf("the line after it: %v", err)
					}
					continue
				}
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
			}
			if n == 0 {
				t.Error("nothing was read")
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

func TestBrokenInputSendsNothing(t *testing.T) {
	_, err := readInput(io.NopCloser(io.MultiReader(strings.NewReader(ndjson(1)), brokenReader{})), maxWhole, nil, true, nil)
	if err == nil || err.Error() != "read input: disk gone" {
		t.Errorf("got %v", err)
	}
	for _, err := range readOrders(brokenReader{}, nil) {
		if err == nil || err.Error() != "read input: disk gone" {
			t.Errorf("streamed: got %v", err)
		}
	}
}

func TestManyBadLinesAreNotAllShown(t *testing.T) {
	code, _, stderr := relay(t, newFake(), strings.Repeat("{}\n", 50), "submit")
	if code != exitUsage || strings.Count(stderr, "line ") != maxShown || !strings.Contains(stderr, "… and 30 more") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestIDsSortByTime(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 100 {
		ids = append(ids, newID(at.Add(time.Duration(i*i)*time.Millisecond)))
	}
	ids = append(ids, newID(at.AddDate(50, 0, 0)))
	if !slices.IsSorted(ids[1:]) { // the first two may share a millisecond with nothing but chance between them
		t.Errorf("not sorted: %v", ids)
	}
	if _, err := intents.EncodeReference(ids[0]); err != nil || len(ids[0]) != 29 {
		t.Errorf("%s: %v", ids[0], err)
	}
	if a, b := newID(at), newID(at); a == b {
		t.Error("the same id twice")
	}
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{errors.New("x"), exitFailed},
		{intents.ErrNotFound, exitFailed},
		{&intents.TransitionError{ID: "a", From: intents.Settled, To: intents.Canceled}, exitFailed},
		{usage(&intents.InvalidError{Field: "a"}), exitUsage},
		{fmt.Errorf("list: %w", fmt.Errorf("dial: %w", intents.ErrUnavailable)), exitDown},
		{fmt.Errorf("dev: %w", &postgres.NotFoundError{}), exitDown},
		{quiet(exitFailed), exitFailed},
		{context.Canceled, exitFailed},
	}
	for _, tt := range tests {
		if got := codeOf(tt.err); got != tt.want {
			t.Errorf("%v: got %d, want %d", tt.err, got, tt.want)
		}
	}
	if usage(nil) != nil {
		t.Error("usage of nothing is an error")
	}
}

// TestErrorsAreRedacted is case 111 for whatever text ends up in an error.
func TestErrorsAreRedacted(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{stderr: &stderr, cfg: config.Config{DatabaseURL: config.NewSecret("host=db password=hunter22")}}
	code := a.exit(errors.Join(errors.New("bad password hunter22"), errors.New("dial postgres://u:SECRET2@db/x")))
	if code != exitFailed || stderr.String() != "relayer: bad password ***\nrelayer: dial postgres://***@db/x\n" {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a chromium that looks at a console.
type browser struct {
	t    *testing.T
	base string
	ctx  context.Context

	mu     sync.Mutex
	loaded []string // every address that was asked for
	wrong  []string // what the browser complained about
}

// findBrowser gives the browser's path. make test installs one where there is none.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no chromium: make browser installs it")
	return ""
}

// openBrowser starts a browser with its data in the test's own directory. It ends with the test.
func openBrowser(t *testing.T, base string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(findBrowser(t)), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU, chromedp.WSURLReadTimeout(patience), chromedp.Flag("disable-dev-shm-usage", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	b := &browser{t: t, base: base}
	first, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	b.ctx = first
	b.attach(first)
	return b
}

// tab opens one beside the first.
func (b *browser) tab() context.Context {
	b.t.Helper()
	ctx, stop := chromedp.NewContext(b.ctx)
	b.t.Cleanup(stop)
	b.attach(ctx)
	return ctx
}

// attach listens to a tab.
func (b *browser) attach(ctx context.Context) {
	b.t.Helper()
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		b.t.Fatal(err)
	}
	call(b, ctx, network.Enable, network.EnableParams{})
	call(b, ctx, log.Enable, cdp.Empty{})
}

// call sends a command to a tab.
func call[P, R any](b *browser, ctx context.Context, cmd cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(ctx, cmd, params); err != nil {
		b.t.Fatal(err)
	}
}

// got runs an action that gives something, with patience.
func got[T any](b *browser, ctx context.Context, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// hear remembers what a tab loads, and what is wrong with it.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.loaded = append(b.loaded, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceViolation || e.Entry.Source == log.EntrySourceJavascript {
			b.wrong = append(b.wrong, fmt.Sprint(e.Entry.URL, ": ", e.Entry.Text))
		}
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, fmt.Sprintf("%+v", e.ExceptionDetails))
	}
}

func (b *browser) do(ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for _, step := range steps {
		got(b, ctx, step)
	}
}

// goes opens a page and waits until it is there.
func (b *browser) goes(ctx context.Context, path string) {
	b.t.Helper()
	b.do(ctx, chromedp.Navigate(b.base+path), chromedp.WaitVisible(chromedp.CSS("main h1")))
}

// says waits until the page has a text.
func (b *browser) says(ctx context.Context, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		quoted, _ := json.Marshal(text)
		b.is(ctx, text, fmt.Sprintf("document.body.innerText.includes(%s)", quoted))
	}
}

// is waits until an expression holds, also over pages that follow each other.
func (b *browser) is(ctx context.Context, what, expression string) {
	b.t.Helper()
	holds := false
	defer func() {
		if !holds {
			text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + document.body.innerText"))
			b.t.Log("the page says\n", text)
		}
	}()
	until(b.t, what, func() bool {
		one, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		var err error
		holds, err = chromedp.Run(one, chromedp.Evaluate[bool]("document.readyState === 'complete' && Boolean("+expression+")"))
		holds = holds && err == nil // an error: the page is just being replaced
		return holds
	})
}

// writes fills a field of a decision.
func (b *browser) writes(ctx context.Context, do, field, text string) {
	b.t.Helper()
	b.do(ctx, chromedp.SetValue(chromedp.CSS(fmt.Sprintf(`[data-do=%s] [name=%s]`, do, field)), text))
}

// presses sends a decision's form.
func (b *browser) presses(ctx context.Context, do string) {
	b.t.Helper()
	b.do(ctx, chromedp.Click(chromedp.CSS(fmt.Sprintf(`[data-do=%s] button`, do))))
}

// sight is how a page is looked at.
type sight struct {
	name          string
	width, height int64
	dark          bool
}

// looks sets a tab's size and colours.
func (b *browser) looks(ctx context.Context, l sight) {
	b.t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	b.do(ctx, chromedp.EmulateViewport(l.width, l.height))
	call(b, ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

//go:embed testdata/axe-4.14.1.min.js
var axe string

// accessible wants no violation that axe knows of, and no page that is wider than the window.
func (b *browser) accessible(ctx context.Context, what string) {
	b.t.Helper()
	type violation struct {
		ID    string `json:"id"`
		Help  string `json:"help"`
		Nodes []struct {
			HTML    string `json:"html"`
			Summary string `json:"failureSummary"`
		} `json:"nodes"`
	}
	got(b, ctx, chromedp.Evaluate[chromedp.Void](axe+";0"))
	found := got(b, ctx, chromedp.Evaluate[[]violation](`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations)`, chromedp.EvalAwaitPromise))
	wide := got(b, ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`))
	for _, v := range found {
		for _, n := range v.Nodes {
			b.t.Errorf("%s: %s: %s\n%s\n%s", what, v.ID, v.Help, n.HTML, n.Summary)
		}
	}
	if wide {
		b.t.Errorf("%s: the page is wider than the window", what)
	}
}

// keeps writes a picture where RELAYER_SCREENSHOTS says, or away with the test.
func (b *browser) keeps(ctx context.Context, name string) {
	b.t.Helper()
	dir := os.Getenv("RELAYER_SCREENSHOTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	png := got(b, ctx, chromedp.CaptureScreenshot())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// clean wants that nothing came from elsewhere, and that the browser had nothing to complain of.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	away := slices.DeleteFunc(slices.Clone(b.loaded), func(url string) bool {
		return strings.HasPrefix(url, b.base+"/") || strings.HasPrefix(url, "data:") || url == "about:blank"
	})
	if len(away) > 0 || len(b.loaded) == 0 {
		b.t.Errorf("of %d loads these went elsewhere: %v", len(b.loaded), away)
	}
	for _, w := range b.wrong {
		b.t.Errorf("the browser complains: %s", w)
	}
}

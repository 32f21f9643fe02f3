package main

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// found is what a pattern's group finds in what a program printed, once it has.
func (p *program) found(pattern string) string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	var got []string
	until(p.t, pattern, func() bool { got = re.FindStringSubmatch(p.stdout.String()); return got != nil })
	return got[1]
}

// TestConsole is a person with a browser at relayer dev --demo review. One stack and one browser serve all of it: they take
// longest to start. It ends with the stack's own drain.
func TestConsole(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--demo", "review", "--intents", "6")
	base := p.found(`console   (http://\S+)/\n`)
	pub := p.found(`'(http://\S+/pub\?topic=intents.webhooks)'`)
	if where := strings.Index(p.stdout.String(), "  nsqadmin  http://"); where < strings.Index(p.stdout.String(), "console   http://") {
		t.Error("the console is not shown first")
	}
	resp, err := http.Post(pub, "application/json", strings.NewReader(`{"v":1,"id":"pi_<script>"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	b := openBrowser(t, base)
	run := b.review()
	b.everyPage(run)
	b.keyboard(run)
	b.leftAlone(run + "unclear")
	b.twoTabs(run + "unclear")
	b.sendsAgain(run + "lost")
	b.withoutScripts(run + "happened")
	b.clean()
	p.signal(syscall.SIGINT)
	p.exits(exitOK)
}

// review opens the review list, and gives what the ids of the three begin with.
func (b *browser) review() (run string) {
	b.t.Helper()
	b.is(b.opened("/review"), "three reviews", `document.querySelectorAll("[data-row] a").length === 3`)
	id := got(b, b.ctx, chromedp.Text(chromedp.CSS("[data-row] a")))
	return strings.TrimSuffix(id, "happened")
}

func (b *browser) opened(path string) context.Context {
	b.t.Helper()
	b.goes(b.ctx, path)
	return b.ctx
}

// everyPage looks at all pages by day and, on a phone, by night.
func (b *browser) everyPage(run string) {
	b.t.Helper()
	b.is(b.opened("/dead-letters"), "a dead letter", `document.querySelector("[data-row] a")`)
	letter := got(b, b.ctx, chromedp.AttributeValue(chromedp.CSS("[data-row] a"), "href")).Value
	b.is(b.opened("/intents?state=settled"), "six to be settled", `document.querySelectorAll("[data-row]").length === 6`)
	tall := map[string]int64{"intent": 1240, "stuck": 1240}
	pages := []struct{ name, path, says string }{
		{"overview", "/", "Where intents stand"}, {"review", "/review", "put here"}, {"intents", "/intents", "settled"},
		{"intent", "/intents/" + run + "happened", "It happened, beyond recall"}, {"stuck", "/intents/" + run + "unclear", "It does not show it"},
		{"dead-letters", "/dead-letters", "invalid"}, {"dead-letter", letter, "Publish it again"}, {"routes", "/routes", "Waiting in NSQ"},
		{"signers", "/signers", "Next nonce"}, {"instances", "/instances", "working"}, {"signin", "/signin", "Token"}, {"nowhere", "/review/nowhere", "no such page"},
	}
	for _, l := range []sight{{"", 1100, 900, false}, {"-phone", 390, 900, true}} {
		for _, page := range pages {
			b.looks(b.ctx, sight{l.name, l.width, max(l.height, tall[page.name]), l.dark})
			b.goes(b.ctx, page.path)
			b.says(b.ctx, page.says)
			b.accessible(b.ctx, page.name+l.name)
			b.keeps(b.ctx, page.name+l.name)
		}
	}
	b.looks(b.ctx, sight{"", 1100, 800, false})
}

// keyboard goes to the second review and opens it, and past the menu.
func (b *browser) keyboard(run string) {
	b.t.Helper()
	b.goes(b.ctx, "/review")
	b.do(b.ctx, chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	b.is(b.ctx, "the second to have the focus", `document.activeElement.textContent === "`+run+`lost"`)
	b.do(b.ctx, chromedp.KeyEvent(kb.Enter))
	b.is(b.ctx, "the second to be opened", `location.pathname === "/intents/`+run+`lost"`)
	b.goes(b.ctx, "/review")
	b.do(b.ctx, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.is(b.ctx, "the content to have the focus", `location.hash === "#main"`)
}

// leftAlone: a page is not changed under a person who has paused it, or has begun to write.
func (b *browser) leftAlone(id string) {
	b.t.Helper()
	stopped := func() bool {
		return got(b, b.ctx, chromedp.Evaluate[bool](`!document.getElementById("live").dispatchEvent(new CustomEvent("htmx:beforeRequest", {bubbles: true, cancelable: true, detail: {elt: document.getElementById("live")}}))`))
	}
	b.goes(b.ctx, "/")
	if stopped() {
		b.t.Error("the overview is not kept fresh")
	}
	b.do(b.ctx, chromedp.Click(chromedp.CSS("#pause")))
	b.is(b.ctx, "the pause to be shown", `document.getElementById("pause").ariaPressed === "true"`)
	if !stopped() {
		b.t.Error("it is kept fresh although that is paused")
	}
	const swaps = `(() => { const d = {target: document.getElementById("decide"), shouldSwap: true}; d.target.dispatchEvent(new CustomEvent("htmx:oobBeforeSwap", {bubbles: true, detail: d})); return d.shouldSwap })()`
	b.goes(b.ctx, "/intents/"+id)
	b.is(b.ctx, "decisions to be replaced", swaps)
	b.writes(b.ctx, "fail", "reason", "I have begun")
	b.is(b.ctx, "decisions to stay", "!"+swaps)
}

// twoTabs show the same review, and both decide: the second is told who did, and what is so now (case 104).
func (b *browser) twoTabs(id string) {
	b.t.Helper()
	second := b.tab()
	for _, tab := range []context.Context{b.ctx, second} {
		b.goes(tab, "/intents/"+id)
		b.says(tab, "It does not show it")
	}
	b.writes(b.ctx, "fail", "reason", "asked them: it never came")
	b.presses(b.ctx, "fail")
	b.says(b.ctx, "The hold was given back", "failed")
	b.writes(second, "settle", "reason", "it is on my statement")
	b.writes(second, "settle", "ref", "statement-7")
	b.presses(second, "settle")
	b.says(second, "Nothing was done: your page was out of date", "console moved it from needs review to failed", "asked them: it never came", "It happened after all")
	b.accessible(second, "stale page")
	b.looks(second, sight{"", 1100, 800, false})
	b.keeps(second, "stale")
}

// sendsAgain has one that is safe to be sent again sent, and follows it to its end.
func (b *browser) sendsAgain(id string) {
	b.t.Helper()
	b.goes(b.ctx, "/intents/"+id)
	b.says(b.ctx, "pays once")
	b.writes(b.ctx, "retry", "reason", "they lost it")
	b.presses(b.ctx, "retry")
	b.says(b.ctx, "On its way again")
	b.goes(b.ctx, "/intents?state=settled") // a page that keeps itself fresh
	b.is(b.ctx, "it to be settled", `[...document.querySelectorAll("[data-row] a")].some(a => a.textContent === "`+id+`")`)
}

// withoutScripts settles one as a browser does that runs none.
func (b *browser) withoutScripts(id string) {
	b.t.Helper()
	tab := b.tab()
	call(b, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.goes(tab, "/intents/"+id)
	b.do(tab, chromedp.Click(chromedp.CSS(`#now a`)), chromedp.WaitVisible(chromedp.CSS(`[data-do=settle] [name=ref][value^=pay_]`)),
		chromedp.SendKeys(chromedp.CSS(`[data-do=settle] [name=reason]`), "they show it"), chromedp.Click(chromedp.CSS(`[data-do=settle] button`)),
		chromedp.WaitVisible(chromedp.CSS(`.lead [data-state=settled]`)))
}

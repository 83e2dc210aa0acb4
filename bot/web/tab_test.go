package web

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"matrix-tui/bot"
	"matrix-tui/state/execution"
)

// tab is a page in a real browser.
type tab struct {
	*testing.T
	page context.Context
	axe  string // the script
}

func (b tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.page, actions...); err != nil {
		b.Fatal(err)
	}
}

// shows waits until the page has a text.
func (b tab) shows(text string) {
	b.Helper()
	shown := fmt.Sprintf("!!document.body && document.body.innerText.includes(%s)", quoted(text))
	for yes := false; !yes; {
		var err error // a page that is just being left has no context to run this in
		if yes, err = chromedp.Run(b.page, chromedp.Evaluate[bool](shown)); b.page.Err() != nil {
			b.Fatalf("wait for %q: %v", text, err)
		}
	}
}

// signIn signs a user in, and looks at the page for that if its picture has a name.
func (b tab) signIn(h *house, base, user, name string) {
	b.Helper()
	b.do(chromedp.Navigate(base + "/"))
	b.shows("Send this to the bot")
	if name != "" {
		b.look(name + "-door")
	}
	code, err := chromedp.Run(b.page, chromedp.Evaluate[string](`document.getElementById("code").textContent`))
	if err != nil {
		b.Fatal(err)
	}
	h.mu.Lock()
	h.admitted[strings.TrimPrefix(code, "!page ")] = user
	h.mu.Unlock()
	b.do(chromedp.SendKeys("#number", "123456"), chromedp.Click("#number + button"))
	b.shows("Find a room")
}

// look checks what is shown: it fits the width, nothing was blocked or has failed, and axe-core finds nothing. With
// MATRIX_TUI_SCREENSHOTS, a folder, it saves what it has looked at.
func (b tab) look(name string) {
	b.Helper()
	result := func(what, expression string) string {
		said, err := chromedp.Run(b.page, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
		if err != nil {
			b.Fatalf("%s, %s: %v", name, what, err)
		}
		return said
	}
	result("loading axe-core", b.axe+`; "loaded"`)
	if said := result("axe-core", `axe.run().then(r => JSON.stringify(r.violations.map(v =>
		v.id + ": " + v.nodes[0].html + " " + v.nodes[0].failureSummary)))`); said != "[]" {
		b.Errorf("%s: axe-core: %s", name, said)
	}
	if said := result("measuring", `JSON.stringify([...document.querySelectorAll("body *")].filter(e =>
		document.documentElement.scrollWidth > innerWidth && e.getBoundingClientRect().right > innerWidth).map(e =>
		e.outerHTML.slice(0, 100)))`); said != "[]" {
		b.Errorf("%s is wider than the screen: %s", name, said)
	}
	picture, err := chromedp.Run(b.page, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	if dir := os.Getenv("MATRIX_TUI_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
			b.Error(err)
		}
	}
}

// maxWeight is how many bytes a page may have, with all of its files.
const maxWeight = 100_000

// The list of 500 rooms is light, and a search finds those that it does not show.
func manyRooms(t *testing.T, is tab, name string) {
	h, open := newHouse(t)
	for i := range 500 {
		h.rooms = append(h.rooms, bot.RoomLine{ID: fmt.Sprintf("!%043d:example.org", i), Running: i < 4, Waiting: i % 7 / 6,
			Name: fmt.Sprintf("Room %d: the roof, the walls and the garden of the barn", i)})
	}
	base := open().base
	is.signIn(h, base, "@alice:h", "")
	is.shows("300 more")
	is.look(name + "-500")
	weight, err := chromedp.Run(is.page, chromedp.Evaluate[int64](`["navigation", "resource"].flatMap(kind =>
		performance.getEntriesByType(kind)).reduce((sum, one) => sum + one.decodedBodySize, 0)`))
	if err != nil || weight == 0 || weight > maxWeight {
		t.Errorf("the page has %d bytes, want at most %d, %v", weight, maxWeight, err)
	}
	t.Logf("the page has %d bytes", weight)
	is.do(chromedp.SendKeys("#q", "room 499"), chromedp.Click("#q + button"))
	is.shows("Room 499")
	links, err := chromedp.Run(is.page, chromedp.Evaluate[int64](`document.querySelectorAll("ul.list a").length`))
	if err != nil || links != 1 {
		t.Errorf("a search shows %d rooms, %v", links, err)
	}
	is.look(name + "-500-found")
}

// picture makes the picture in README.md.
func picture(t *testing.T, is tab) {
	h, open := newHouse(t)
	options := []string{"1. Both days", "2. Only Saturday", "3. Only Sunday"}
	h.shown = &bot.TaskView{RoomName: "Garden club", By: "alice", Number: 1, Until: "17:42", Used: "9 steps · 48 s · 61,204 tokens",
		Execution: &execution.Execution{ID: "one", State: execution.WaitingForInput, CreatedAt: time.Now().Add(-2 * time.Minute),
			Transcript: []string{"Add the spring market to our website, and make the opening hours easier to find."},
			CurrentQuestion: "The poster has two dates, **18 and 19 April**. Which should the page show?\n\n" +
				strings.Join(options, "\n")},
		Around: "The opening hours are at the top of each page now.", Came: []bot.TaskFile{{Name: "poster.pdf", Size: 240 << 10}},
	}
	for _, o := range options {
		h.shown.Options = append(h.shown.Options, bot.Option{Name: o, Answer: o})
	}
	base := open().base
	is.signIn(h, base, "@alice:example.org", "")
	is.do(chromedp.Navigate(base + "/t/one"))
	is.shows("Which should the page show?")
	is.look("readme")
}

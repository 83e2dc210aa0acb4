package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// attack is what a program in a container has a browser do that previews it: it tells what worked.
const attack = `(async () => {
	const worked = [];
	if (document.cookie.includes("session") || document.cookie.includes("preview")) worked.push("cookies: " + document.cookie);
	for (const mode of ["cors", "no-cors"]) {
		try {
			const answer = await fetch(BASE + "/r/!den:h", {credentials: "include", mode});
			const text = await answer.text();
			if (text) worked.push(mode + ": " + text);
		} catch {}
	}
	try { await fetch(BASE + "/t/one/stop", {method: "POST", credentials: "include", mode: "no-cors"}); } catch {}
	document.cookie = "session=stolen; path=/";
	document.cookie = "session=stolen; path=/; domain=localhost";
	const frame = document.createElement("iframe");
	frame.src = BASE + "/";
	const loaded = new Promise(done => { frame.onload = done; frame.onerror = done; });
	document.body.append(frame);
	await loaded;
	try { if (frame.contentDocument.body.innerText) worked.push("frame"); } catch {}
	return worked.join("; ");
})()`

// A hostile program that somebody previews reaches nothing of the page.
func TestPreviewInChromium(t *testing.T) {
	path := findChromium(t)
	script := axe(t)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>hostile</title><body>a web server"))
	}))
	defer program.Close()
	for name, size := range map[string][2]int64{"desk": {1280, 800}, "phone": {390, 844}} {
		t.Run(name, func(t *testing.T) {
			h, open := newHouse(t)
			h.program = strings.TrimPrefix(program.URL, "http://")
			h.files = map[string]string{"plan.txt": "walls", evil: "x"}
			h.sessions["s-1"] = "@alice:h"
			base := open().base
			chrome := tab{t, chromium(t, path, size[0], size[1]), script}
			run := func(expression string) string {
				t.Helper()
				said, err := chromedp.Run(chrome.page, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
				if err != nil {
					t.Fatalf("%s: %v", expression, err)
				}
				return said
			}
			visit := func(address string) {
				t.Helper()
				if err := chromedp.Do(chrome.page, chromedp.Navigate(address)); err != nil {
					t.Fatal(err)
				}
			}
			visit(base + "/signin")
			run(`document.cookie = "session=s-1"; ""`)
			visit(base + "/r/!den:h/files/")
			chrome.look(name + "-files")
			visit(base + "/r/!den:h/processes")
			chrome.look(name + "-processes")
			if err := chromedp.Do(chrome.page, chromedp.Click("#port + button"), chromedp.WaitVisible("a.button")); err != nil {
				t.Fatal(err)
			}
			chrome.look(name + "-preview")
			visit(run(`document.querySelector("a.button").href`))
			if text := run(`document.body.innerText`); text != "a web server" {
				t.Fatalf("the preview shows %q", text)
			}
			if origin := run("origin"); !strings.HasSuffix(strings.Split(origin, ":")[1], ".localhost") {
				t.Errorf("the preview is on the origin %s", origin)
			}
			if worked := run(strings.ReplaceAll(attack, "BASE", fmt.Sprintf("%q", base))); worked != "" {
				t.Errorf("it could do this: %s", worked)
			}
			if h.stopped != 0 {
				t.Error("it has stopped a task")
			}
			visit(base + "/")
			if text := run(`document.body.innerText`); !strings.Contains(text, "@alice:h") {
				t.Errorf("alice is no longer signed in: %q", text)
			}
		})
	}
}

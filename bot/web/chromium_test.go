package web

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"matrix-tui/state/execution"
)

// Of npm's registry.
const (
	axePath = "/axe-core/-/axe-core-4.14.1.tgz"
	axeSum  = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// axe returns the script of axe-core, which finds what a screen reader's user would stumble over. The registry is npm's,
// or NPM_CONFIG_REGISTRY.
func axe(t *testing.T) string {
	registry := os.Getenv("NPM_CONFIG_REGISTRY")
	if registry == "" {
		registry = "https://registry.npmjs.org"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(registry, "/")+axePath, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	packed, err := io.ReadAll(io.LimitReader(resp.Body, 20<<20))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(packed); base64.StdEncoding.EncodeToString(sum[:]) != axeSum {
		t.Fatalf("%s has another checksum", axePath)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unpacked); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			t.Fatal("the package has no axe.min.js")
		}
		if err != nil {
			t.Fatal(err)
		}
		if file.Name == "package/axe.min.js" {
			script, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return string(script)
		}
	}
}

// findChromium returns the browser's path, or skips the test if there is none and MATRIX_TUI_E2E does not require it.
func findChromium(t *testing.T) string {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("MATRIX_TUI_E2E") == "require" {
			t.Fatal(err)
		}
		t.Skip("NOT RUN: the page in a browser needs chromium")
	}
	return path
}

// chromium opens a real browser of this size.
func chromium(t *testing.T, path string, width, height int64) context.Context {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	browser, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	tab, cancel := context.WithTimeout(tab, 2*time.Minute)
	t.Cleanup(cancel)
	if err := chromedp.Do(tab, chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestInChromium(t *testing.T) {
	path := findChromium(t)
	script := axe(t)
	for name, size := range map[string][2]int64{"desk": {1280, 800}, "phone": {390, 844}} {
		t.Run(name, func(t *testing.T) {
			h, open := newHouse(t)
			h.task.CurrentQuestion = "Which colour should the barn have?\n\n1. red\n2. green\n\n" + hostile
			h.task.Transcript = []string{"Paint the barn, and say how long it took. " + strings.Repeat("long", 60)}
			base := open().base
			is := tab{t, chromium(t, path, size[0], size[1]), script}
			do, shows := is.do, is.shows
			is.signIn(h, base, "@alice:h", name)
			is.look(name + "-rooms")
			do(chromedp.Click("header a[href='/operator']"))
			shows("podman 5.4.2")
			is.look(name + "-operator")
			do(chromedp.Navigate(base + "/"))
			shows("Find a room")
			do(chromedp.Click("ul.list a"))
			shows("Container")
			is.look(name + "-room")
			do(chromedp.Click("main a[href$=memory]"))
			shows("Find what the room remembers")
			is.look(name + "-memory")
			do(chromedp.Navigate(base + "/t/one"))
			shows("Your answer")
			is.look(name + "-question")

			// what somebody is writing stays when the page changes
			do(chromedp.SendKeys("#answer", "as red as"))
			h.mu.Lock()
			h.task.QuestionContext = "x"
			h.task.CurrentQuestion += "\n\nThe paint is cheap."
			h.mu.Unlock()
			shows("The paint is cheap")
			if typed, err := chromedp.Run(is.page, chromedp.Value("#answer")); err != nil || typed != "as red as" {
				t.Errorf("after a change, the answer is %q, %v", typed, err)
			}
			do(chromedp.SendKeys("#answer", " a fox"), chromedp.Click("#answer + button"))
			h.mu.Lock()
			h.task.State, h.task.Answers = execution.Running, []execution.Answer{{Question: "Which colour?", Answer: "as red as a fox", By: "@alice:h"}}
			h.progress = "⏳ Working on it · 3 s · step 1\n💻 step 1: run_shell_command `paint --colour red` …"
			h.mu.Unlock()
			shows("Working on it")
			is.look(name + "-running")
			h.mu.Lock()
			h.progress = "⏳ Working on it · 4 s · step 2\n💻 step 2: run_shell_command `dry` …"
			h.mu.Unlock()
			begun := time.Now()
			shows("step 2")
			t.Logf("a step was visible after %s", time.Since(begun))
			h.mu.Lock()
			h.task.State, h.result = execution.Done, "The barn is **red** now.\n\n| wall | minutes |\n|---|---|\n| north | 12 |\n\n```\npainted 4 walls\n```\n"+hostile
			h.mu.Unlock()
			shows("The barn is red now")
			is.look(name + "-result")
			if len(h.answered) != 1 || h.answered[0] != "as red as a fox" {
				t.Errorf("answered %q", h.answered)
			}
			if ran, err := chromedp.Run(is.page, chromedp.Evaluate[bool]("window.ran === true")); err != nil || ran {
				t.Errorf("a script of somebody else has run: %t, %v", ran, err)
			}
		})
		t.Run(name+" with 500 rooms", func(t *testing.T) {
			manyRooms(t, tab{t, chromium(t, path, size[0], size[1]), script}, name)
		})
	}
	t.Run("picture", func(t *testing.T) { picture(t, tab{t, chromium(t, path, 390, 844), script}) })
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

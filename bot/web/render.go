package web

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"matrix-tui/bot"
	"matrix-tui/bot/text"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

var static = cached(http.FileServerFS(staticFiles))

// cached lets browsers keep files for an hour.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		next.ServeHTTP(w, r)
	})
}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"markdown": markdown, "title": title, "state": stateText, "ago": ago, "path": url.PathEscape, "plural": text.Plural,
	"thousands": text.Thousands, "open": func(v bot.TaskView) bool { return !ended(v) }, "chart": chartOf,
	"settled": settled, "filepath": filePath, "filename": fileName, "size": text.Size, "duration": text.Duration,
	"line":  func(s string) string { return text.OneLine(s, 250) },
	"since": func(t time.Time) string { return text.Duration(max(0, time.Since(t))) },
}).ParseFS(templateFiles, "templates/*.html"))

// page is what all templates show.
type page struct {
	Title string
	User  string // who has signed in, or ""
	Owner bool   // the header leads to the operator's page
	Said  string // to the visitor, or ""
	Typed string // what the visitor has entered and what was not taken, or ""
	Data  any
}

// show sends a page.
func (s *site) show(w http.ResponseWriter, status int, name string, p page) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, p); err != nil {
		s.log.Error().Err(err).Str("page", name).Msg("cannot render a page")
		http.Error(w, tryAgain, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

// fail says what is wrong, and what to do.
func (s *site) fail(w http.ResponseWriter, status int, said string) {
	title := "That did not work"
	if status == http.StatusNotFound {
		title = "Nothing here"
	}
	s.show(w, status, "said", page{Title: title, Said: said})
}

// answered reports whether err has been answered. One that the visitor can do nothing about is logged.
func (s *site) answered(w http.ResponseWriter, err error) bool {
	said, known := sentence.Of(err)
	switch {
	case err == nil:
		return false
	case errors.Is(err, bot.ErrNoRoom), errors.Is(err, bot.ErrNoExecution), errors.Is(err, bot.ErrNoFile):
		s.fail(w, http.StatusNotFound, noPage)
	case known:
		s.fail(w, http.StatusServiceUnavailable, said)
	default:
		s.log.Error().Err(err).Msg("cannot answer a request to the page")
		s.fail(w, http.StatusInternalServerError, tryAgain)
	}
	return true
}

// markdown renders Markdown: package text shows HTML in it as text, and no link that a client should not open.
func markdown(source string) template.HTML {
	plain, formatted := text.Render(text.Visible(source))
	if formatted == "" {
		formatted = strings.ReplaceAll(template.HTMLEscapeString(plain), "\n", "<br>\n")
	}
	return template.HTML(formatted) // #nosec G203 -- made safe by Render
}

// title is what a task is called: the beginning of what was asked.
func title(e *execution.Execution) string {
	line := func(said []string) string { return text.OneLine(strings.Join(said, " "), 120) }
	return cmp.Or(line(e.Transcript), line(e.Commands), "A task")
}

// stateText is the state of a task for people.
func stateText(e *execution.Execution) string {
	switch e.State {
	case execution.Pending:
		return "queued"
	case execution.Running:
		return "running"
	case execution.WaitingForInput:
		return "waiting for an answer"
	case execution.Done:
		return "done"
	}
	return "failed"
}

// ago says how long something is in the past.
func ago(t time.Time) string {
	if since := time.Since(t); since >= 48*time.Hour {
		return fmt.Sprintf("%d days ago", int(since.Hours()/24))
	}
	return text.Duration(max(0, time.Since(t))) + " ago"
}

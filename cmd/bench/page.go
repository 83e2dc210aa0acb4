package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

var pageAt = regexp.MustCompile(`"address":"([^"]+)".*"message":"the page is up"`)

// measurePage measures the list of many rooms on the page.
func measurePage(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "page", "WEB_LISTEN=0")
	if err != nil {
		return err
	}
	defer s.close(&err)
	all, err := s.joined(ctx, b, b.rooms)
	if err != nil {
		return err
	}
	if err := errors.Join(s.seed(all, nil), s.admit(ctx)); err != nil {
		return err
	}
	if _, err := s.start(ctx); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	at := pageAt.FindStringSubmatch(s.Log())
	if at == nil {
		return errors.New("the bot's log does not say where the page is")
	}
	before, err := s.rested(ctx)
	if err != nil {
		return err
	}
	var first, size []float64
	for i := range b.n + 1 {
		begun := time.Now()
		took, bytes, err := visit(ctx, "http://"+at[1]+"/")
		if err != nil {
			return err
		}
		if i == 0 { // the bot does not know the rooms' names yet
			b.say("the first time, the page took %s", time.Since(begun))
			if err := s.settle(ctx); err != nil {
				return err
			}
			continue
		}
		first, size = append(first, ms(took)), append(size, float64(bytes)/1000)
	}
	b.table.add("the page with "+rooms(b.rooms)+": request → first byte", "ms", 50, first...)
	b.table.add("  and its size, all files included", "kB", 100, size...)
	mb, err := s.rested(ctx)
	b.table.add("  and the bot's resident memory before", "MB", 80, before)
	b.table.add("  and the bot's resident memory afterwards", "MB", 80, mb)
	return err
}

// benchSession is the secret of alice's session.
const benchSession = "bench"

// admit signs alice in to the page of the bot, which must not be running.
func (s *scene) admit(ctx context.Context) (err error) {
	journal, store, err := state.Open(ctx, s.StateDir(), zerolog.Nop())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(), journal.Close()) }()
	now := time.Now()
	v := state.Visitor{User: s.alice.ID(), Proof: event.Verified, Until: now.Add(time.Hour)}
	return errors.Join(journal.Visits.Admit(ctx, "CODE", v, now),
		journal.Visits.Enter(ctx, "CODE", "", benchSession, now, now.Add(time.Hour)))
}

// visit requests a page and its files, and returns when the first byte of the page came and how many bytes came in all.
func visit(ctx context.Context, address string) (first time.Duration, size int, err error) {
	begun := time.Now()
	for i, path := range []string{"", "static/style.css", "static/live.js", "static/icon.svg"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		if err != nil {
			return 0, 0, err
		}
		r.AddCookie(&http.Cookie{Name: "session", Value: benchSession})
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, 0, err
		}
		if i == 0 {
			first = time.Since(begun)
		}
		data, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return 0, 0, err
		}
		if resp.StatusCode != http.StatusOK {
			return 0, 0, fmt.Errorf("%s says %s: %s", path, resp.Status, data)
		}
		size += len(data)
	}
	return first, size, nil
}

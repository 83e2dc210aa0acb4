package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // reads the bot's journal
)

const (
	between = time.Minute // between two samples
	settled = 120         // seconds that an idle bot gets before the sample at the end of a phase; unused connections are kept for 90
)

// sample is what the bot holds at one moment.
type sample struct {
	at         time.Duration
	idle       bool // taken when nothing was left to do
	acts       int
	memory     float64 // resident, MB
	files      int     // open descriptors
	goroutines int
	disk       float64 // the state folder, MB
	rows       int     // of the journal
	unfinished int     // tasks and events that are not done
}

// watch takes samples until ctx ends.
func (s *soak) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(between):
		}
		if now, err := s.sample(ctx); err == nil { // else the bot is just being killed
			s.mu.Lock()
			s.samples = append(s.samples, now)
			s.mu.Unlock()
		}
	}
}

// take takes the sample at the end of a phase.
func (s *soak) take(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settled * time.Second):
	}
	now, err := s.sample(ctx)
	now.idle = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, now)
	return err
}

func (s *soak) sample(ctx context.Context) (now sample, err error) {
	now.at = time.Since(s.begun)
	s.mu.Lock()
	now.acts = s.next
	s.mu.Unlock()
	proc := fmt.Sprintf("/proc/%d/", s.bot.PID())
	fds, err := os.ReadDir(proc + "fd")
	if err != nil {
		return now, err
	}
	now.files = len(fds)
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return now, err
	}
	kb, err := number(`(?m)^VmRSS:\s+(\d+) kB$`, string(status))
	now.memory = kb * 1024 / 1e6
	if err != nil {
		return now, err
	}
	metrics, err := s.metrics(ctx)
	if err != nil {
		return now, err
	}
	goroutines, err := number(`(?m)^go_goroutines (\d+)$`, metrics)
	now.goroutines = int(goroutines)
	if err != nil {
		return now, err
	}
	if now.disk, err = size(s.bot.StateDir()); err != nil {
		return now, err
	}
	return now, s.count(ctx, &now)
}

// number finds a number in a text.
func number(pattern, text string) (float64, error) {
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("nothing matches %s", pattern)
	}
	return strconv.ParseFloat(found[1], 64)
}

// size is the size of a folder in MB.
func size(dir string) (mb float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return ignore(err)
		}
		info, err := entry.Info()
		if err == nil {
			mb += float64(info.Size()) / 1e6
		}
		return ignore(err)
	})
	return mb, err
}

// ignore ignores that a file was removed meanwhile.
func ignore(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// count reads the journal.
func (s *soak) count(ctx context.Context, now *sample) (err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.bot.StateDir(), "journal.db")+
		"?mode=ro&_pragma=busy_timeout(2000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.QueryRowContext(ctx,
		`SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM task) + (SELECT count(*) FROM message),
		(SELECT count(*) FROM event WHERE status = 1) + (SELECT count(*) FROM gap) + (SELECT count(*) FROM task WHERE state <> 'done') +
		(SELECT count(*) FROM message WHERE status = 0)`).Scan(&now.rows, &now.unfinished)
}

var listening = regexp.MustCompile(`"address":"([^"]+)".*"message":"listening"`)

// metrics reads the bot's metrics.
func (s *soak) metrics(ctx context.Context) (string, error) {
	at := listening.FindStringSubmatch(s.bot.Log())
	if at == nil {
		return "", errors.New("the bot's log does not say where it listens")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at[1]+"/metrics", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

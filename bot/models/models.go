// Package models decides which model of the Gemini API a setting means, by asking the API.
//
// A setting is the name of a model, or auto, pro, flash or an alias of the API, which mean other models in the course
// of time. What they mean is chosen when it is first needed and once a day, and kept in models.json, so that a start
// does not depend on the API. A model that was set by name is never replaced.
package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/crash"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

const (
	findTime = time.Minute      // bounds one choice
	taskTime = 45 * time.Second // that a task waits for one
	every    = 24 * time.Hour   // between two choices
	maxKept  = 50               // settings with a choice
)

// Choice is what a setting means.
type Choice struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// kept is the content of models.json.
type kept struct {
	Choices map[string]Choice `json:"choices"`
}

// Models keeps what the settings of all rooms mean.
type Models struct {
	client  *gemini.Client
	file    string
	log     zerolog.Logger
	asking  chan struct{} // is full while the API is asked for a choice
	changed chan string   // sentences for the owners

	mu   sync.Mutex
	kept kept
}

// Open reads the choices in a state folder. A file that cannot be read is as good as none.
func Open(dir string, client *gemini.Client, log zerolog.Logger) *Models {
	m := &Models{client: client, file: filepath.Join(dir, "models.json"), log: log, asking: make(chan struct{}, 1),
		changed: make(chan string, 20)}
	data, err := os.ReadFile(m.file)
	if err == nil {
		err = json.Unmarshal(data, &m.kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn().Err(err).Msg("cannot read models.json: choosing the models again")
		m.kept = kept{}
	}
	if m.kept.Choices == nil {
		m.kept.Choices = map[string]Choice{}
	}
	return m
}

// Watch chooses the models again, now and once a day, for those of the settings that mean different models in the
// course of time, until ctx ends. It tells the owners of each model that is no longer available.
func (m *Models) Watch(ctx context.Context, settings func() []string, tell func(said string)) {
	again := retry.New(time.Minute, time.Hour)
	for ctx.Err() == nil {
		pause := every
		for _, setting := range settings() {
			if !Moves(setting) {
				continue
			}
			if _, err := m.find(ctx, setting, ""); err != nil && ctx.Err() == nil {
				m.log.Warn().Err(err).Str("setting", setting).Msg("cannot choose a model")
				pause = again.Next()
			}
		}
		if pause == every {
			again.Reset()
		}
		for timer := time.After(pause); timer != nil; {
			select {
			case said := <-m.changed:
				tell(said)
			case <-timer:
				timer = nil
			case <-ctx.Done():
				return
			}
		}
	}
}

// Now returns what a setting means as far as that is known, without asking.
func (m *Models) Now(setting string) (Choice, bool) {
	if !Moves(setting) {
		return Choice{Name: gemini.Bare(setting), Why: "set by name"}, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.kept.Choices[setting]
	return c, ok
}

// Choose returns the name of the model that a setting means. If that is not known yet, it asks, and goes on asking for
// a while if the API cannot be reached. The error has a sentence.
func (m *Models) Choose(ctx context.Context, setting string) (name string, err error) {
	for again := retry.New(time.Second, 8*time.Second).Until(time.Now().Add(taskTime)); ; {
		if c, ok := m.Now(setting); ok {
			return c.Name, nil
		}
		_, err := m.find(ctx, setting, "")
		if err == nil {
			continue
		}
		var r *gemini.Refusal
		if errors.As(err, &r) && r.Passes() {
			err = again.Wait(ctx, err)
		}
		if err != nil {
			return "", unchosen(err)
		}
	}
}

func unchosen(err error) error {
	return sentence.Newf(err, "I cannot choose a model: %s. The operator can run `matrix-tui doctor`.", Reason(err))
}

// Reason says in words why the API did not do what it was asked.
func Reason(err error) string {
	var r *gemini.Refusal
	switch {
	case errors.As(err, &r):
		return r.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the model's API did not answer in time"
	}
	return err.Error()
}

// Try makes the model that a setting means generate one token.
func (m *Models) Try(ctx context.Context, setting string) (Choice, error) {
	if Moves(setting) {
		return m.find(ctx, setting, "")
	}
	c, _ := m.Now(setting)
	return c, m.client.Try(ctx, c.Name)
}

// find chooses what a setting means, one choice at a time. With gone, the name of a model that has failed, it only
// returns the choice if that is another one already.
func (m *Models) find(ctx context.Context, setting, gone string) (c Choice, err error) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	select {
	case m.asking <- struct{}{}:
		defer func() { <-m.asking }()
	case <-ctx.Done():
		return c, ctx.Err()
	}
	last, known := m.Now(setting)
	if gone != "" && known && last.Name != gone {
		return last, nil
	}
	lost := false
	c, err = Ask(ctx, m.client, setting, last.Name, func(model string, err error) {
		var r *gemini.Refusal
		lost = lost || model == last.Name && errors.As(err, &r) && !r.Passes()
	})
	if err != nil {
		return c, err
	}
	m.keep(setting, c)
	if c.Name != last.Name {
		m.log.Info().Str("setting", setting).Str("model", c.Name).Str("why", c.Why).Msg("chose a model")
	}
	if lost && c.Name != last.Name {
		select {
		case m.changed <- fmt.Sprintf("⚠️ The model `%s` is no longer available to the key. `%s` now means `%s`: %s.",
			last.Name, setting, c.Name, c.Why):
		default: // nobody reads them while the bot stops
		}
	}
	return c, nil
}

// keep stores a choice, in memory even if the disk is full. If there are too many, the others are chosen again.
func (m *Models) keep(setting string, c Choice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept.Choices) >= maxKept {
		clear(m.kept.Choices)
	}
	m.kept.Choices[setting] = c
	data, err := json.Marshal(m.kept) // cannot fail: it is made of strings
	crash.Count("write models")
	if err == nil {
		err = renameio.WriteFile(m.file, append(data, '\n'), 0o600)
	}
	if err != nil {
		m.log.Warn().Err(err).Msg("cannot store the choice of models")
	}
}

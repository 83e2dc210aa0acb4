package main

import (
	"context"
	"fmt"
	"time"
)

// victim is what can be killed.
type victim string

const (
	theBot        victim = "bot"
	theHomeserver victim = "homeserver"
	thePodman     victim = "podman service"
)

// kill kills one victim after the other, and starts it again up to ten seconds later, until work ends. ctx is the
// whole run's.
func (s *soak) kill(work, ctx context.Context, victims []victim) error {
	for {
		select {
		case <-work.Done():
			return nil
		case <-time.After(s.pause/2 + time.Duration(s.choose(int(s.pause)+1))):
		}
		v := victims[s.choose(len(victims))]
		if err := s.end(ctx, v); err != nil {
			return fmt.Errorf("kill the %s: %w", v, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(s.choose(int(10 * time.Second)))):
		}
		if err := s.begin(ctx, v); err != nil {
			return fmt.Errorf("start the %s again: %w", v, err)
		}
		s.mu.Lock()
		s.kills[v]++
		s.mu.Unlock()
	}
}

func (s *soak) end(ctx context.Context, v victim) error {
	switch v {
	case theBot:
		return s.bot.Kill(ctx)
	case theHomeserver:
		return s.host.StopHomeserver(ctx)
	}
	return s.bot.StopPodman(ctx)
}

func (s *soak) begin(ctx context.Context, v victim) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	switch v {
	case theBot:
		return s.launch(ctx)
	case theHomeserver:
		return s.host.StartHomeserver(ctx)
	}
	return s.bot.StartPodman(ctx)
}

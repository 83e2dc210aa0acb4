package task

import "matrix-tui/bot/container"

// newEnv returns the environment of a room without a chat room.
func newEnv(deps *Deps, room string) *Env {
	return &Env{Deps: deps, Sandbox: container.New(&deps.Shared, room), ID: room}
}

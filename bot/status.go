package bot

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/bot/stop"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
)

// doStatus runs !status.
func (r *room) doStatus(ctx context.Context, row state.Event, _ string) error {
	lines, err := r.workLines(ctx)
	if err != nil {
		return err
	}
	used, err := r.bot.tasks.Budget.UsageLine(ctx, r.id, time.Now())
	if err != nil {
		return err
	}
	return r.tell(ctx, row, endLists(strings.Join(append(lines, r.containerLines(ctx), r.modelLine(), used), "\n")))
}

var listEnd = regexp.MustCompile(`(?m)(^- .*\n)([^-\n])`)

// endLists puts an empty line after each list, because Markdown takes a line that follows as part of the last item.
func endLists(text string) string { return listEnd.ReplaceAllString(text, "$1\n$2") }

// workLines returns lines about the running task, the queued tasks and the open
// questions.
func (r *room) workLines(ctx context.Context) ([]string, error) {
	waiting, err := r.bot.Journal.Tasks.WaitingIn(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	running := "No task is running."
	t := r.turn.Current()
	if t != nil {
		running = "A task is running."
		if p, shown := t.Progress(); shown {
			switch {
			case p.Queued != "":
				running = "A task has been " + p.Queued + " for " + text.Duration(p.Elapsed) + "."
			case p.Step != "":
				running = "A task has been running for " + text.Duration(p.Elapsed) + ", now " + p.Step + "."
			default:
				running = "A task has been running for " + text.Duration(p.Elapsed) + "."
			}
		}
	}
	queued, err := r.bot.Journal.Tasks.Count(ctx, r.id, state.TaskQueued)
	if err != nil {
		return nil, fmt.Errorf("count queued tasks: %w", err)
	}
	rec, err := r.turn.Ahead(ctx, t)
	if err != nil {
		return nil, err
	}
	if t == nil && rec.Due.Why != "" {
		running = "A task is waiting. " + rec.Due.Why
	}
	// it counts as queued until its run is about to start
	if rec.State == state.TaskQueued && rec.StopBy == "" && (t != nil || rec.Due.Why != "") {
		queued--
	}
	lines := []string{running + " " + text.Plural(queued, "task is", "tasks are") + " queued."}
	for _, one := range waiting[:min(len(waiting), 5)] {
		w := r.env.Task(one)
		lines = append(lines, "- Waiting for an answer until "+w.Question().Until()+": "+w.Question().Line(ctx))
	}
	return lines, nil
}

// usageScript prints the container's memory and disk usage in bytes. It supports
// cgroups v1 and v2, and a container with a kernel of its own ($1 is its runtime), and gives up on a large tree after five
// seconds.
const usageScript = `if [ "$1" ]; then awk '$1 == "MemTotal:" {t = $2} $1 == "MemAvailable:" {print (t - $2) * 1024}' /proc/meminfo
else cat /sys/fs/cgroup/memory.current 2>/dev/null || cat /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null || echo -
fi
timeout 5 du -sk /workspace /root 2>/dev/null | awk '{s+=$1} END {print s*1024}'`

// containerLines returns a line about the room's container and its usage, and what tasks have left running in it.
func (r *room) containerLines(ctx context.Context) string {
	if r.bot.Store.Containers.Of(r.id) == "" {
		return "The room has no container yet: the first task creates it."
	}
	line, uses := "The container", []string(nil)
	if r.env.Warm.Has(r.id) {
		line = "The agent waits for your next task. " + line
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	container, err := r.env.Ensure(ctx, false)
	if err != nil {
		return line + ": " + r.bot.sentence(err)
	}
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", usageScript, "sh", r.bot.Runtime}, MaxOutput: 4 << 10})
	if err != nil {
		return line + ": " + r.bot.sentence(err)
	}
	fields := strings.Fields(string(res.Stdout))
	for i, what := range []string{" of memory", " of disk"} {
		if i < len(fields) {
			if n, err := strconv.ParseInt(fields[i], 10, 64); err == nil && n > 0 {
				uses = append(uses, text.Size(int64(n))+what)
			}
		}
	}
	if line += " is running"; len(uses) > 0 {
		line += " and uses " + strings.Join(uses, " and ")
	}
	list, err := container.Left(ctx)
	switch {
	case err != nil:
		return line + ".\n" + r.bot.sentence(err)
	case len(list) == 0:
		return line + "."
	}
	return line + ".\nEarlier tasks left this running, and `!stop all` ends it:\n" + stop.LeftLines(list)
}

// doRooms lists the rooms that have a container, with "all" also their IDs and containers.
func (r *room) doRooms(ctx context.Context, row state.Event, which string) error {
	const most = 50
	all := r.bot.Store.Containers.All()
	ids := slices.Sorted(maps.Keys(all))
	list := "I work in " + strings.ToLower(text.Plural(len(ids), "room", "rooms")) + ".\n"
	for _, id := range ids[:min(len(ids), most)] {
		list += "\n- " + r.bot.roomName(ctx, id)
		if strings.EqualFold(which, "all") {
			list += " " + text.Code(id) + " " + text.Code(all[id])
		}
		if other := r.bot.room(id); other.turn.Busy("") {
			list += ", running a task"
		}
		if n := r.bot.waits.Count(id); n > 0 {
			list += ", waiting for " + strings.ToLower(text.Plural(n, "answer", "answers"))
		}
	}
	if len(ids) > most {
		list += fmt.Sprintf("\n\n… and %d more: `matrix-tui rooms` has them all.", len(ids)-most)
	}
	return r.tell(ctx, row, list)
}

// roomName returns a room's name; if it has none, the other person in a direct chat, or its ID.
func (b *Bot) roomName(ctx context.Context, room string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if name, err := b.account.Rooms.Name(ctx, room); err == nil && strings.TrimSpace(name) != "" {
		return text.Code(name)
	}
	if user := b.roster.Direct.User(room); user != "" {
		return "Direct chat with " + b.room(room).env.NameOf(user)
	}
	return text.Code(room)
}

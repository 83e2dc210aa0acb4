package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/state/sentence"
	"matrix-tui/state/transcripts"
)

// leftRoom is a room that the bot is no longer in, and of which something is kept.
type leftRoom struct {
	Room, Container string
	Volumes         string    // the room whose volumes it has, "" if none, or if another room uses them
	Last            time.Time // of the newest event or line in the transcript; zero if unknown
	Bytes           int64     // of storage; -1 if unknown
}

// measureTime bounds how long podman may measure the rooms: it counts every file.
const measureTime = time.Minute

// space is how much podman's storage holds of a room.
func (l leftRoom) space() string {
	if l.Bytes < 0 {
		return "an unknown amount"
	}
	return cli.Amount(uint64(l.Bytes))
}

// leftRooms returns the rooms that the bot has left, by what is kept: in state.json, in podman's volumes, or as a
// transcript. It only reads. If podman cannot measure them in time, their sizes are unknown.
func leftRooms(ctx context.Context, cfg *settings.Config, podman sandbox.Engine) ([]leftRoom, error) {
	joined, err := joinedRooms(ctx, cfg)
	if err != nil {
		return nil, err
	}
	dir := string(cfg.StateDir)
	store, err := state.ReadStore(dir)
	if err != nil {
		return nil, err
	}
	volumes, err := podman.VolumeRooms(ctx)
	if err != nil {
		return nil, err
	}
	left := findLeft(joined, store, slices.Collect(maps.Values(volumes)),
		func(room string) bool { return !transcripts.Changed(dir, room).IsZero() })
	if len(left) == 0 {
		return nil, nil
	}
	journal, err := state.ReadJournal(ctx, filepath.Join(dir, "journal.db"))
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, err
	}
	if journal != nil {
		defer cli.Closing(&err, journal.Close)
	}
	measure, cancel := context.WithTimeout(ctx, measureTime)
	defer cancel()
	used, failed := podman.Usage(measure)
	for i := range left {
		l := &left[i]
		l.Bytes = used[l.Room]
		if l.Volumes != "" && l.Volumes != l.Room {
			l.Bytes += used[l.Volumes]
		}
		if failed != nil || used == nil {
			l.Bytes = -1
		}
		l.Last = transcripts.Changed(dir, l.Room)
		if journal == nil {
			continue
		}
		at, err := journal.Events.LastArrival(ctx, l.Room)
		if err != nil {
			return nil, err
		}
		if at.After(l.Last) {
			l.Last = at
		}
	}
	slices.SortFunc(left, func(a, b leftRoom) int { return a.Last.Compare(b.Last) })
	return left, err
}

// findLeft returns the rooms of this bot that are not in joined. A room that is only on the label of a volume is this
// bot's if it has a transcript: another bot on this host may use the same podman.
func findLeft(joined []string, store *state.Store, labelled []string,
	hasTranscript func(room string) bool) (left []leftRoom) {
	known := slices.Concat(store.Rooms(), slices.Collect(maps.Keys(store.Volumes())))
	slices.Sort(known)
	known = slices.Compact(known)
	users := map[string][]string{} // the rooms that use a room's volumes
	for _, room := range known {
		users[store.VolumesOf(room)] = append(users[store.VolumesOf(room)], room)
	}
	for _, room := range known {
		one := leftRoom{Room: room, Container: cmp.Or(store.Containers.Of(room), sandbox.NameFor(room)),
			Volumes: store.VolumesOf(room)}
		if len(users[one.Volumes]) > 1 {
			one.Volumes = ""
		}
		left = append(left, one)
	}
	for _, room := range labelled {
		if !slices.Contains(known, room) && users[room] == nil && hasTranscript(room) {
			known = append(known, room) // it has two volumes
			left = append(left, leftRoom{Room: room, Container: sandbox.NameFor(room), Volumes: room})
		}
	}
	left = slices.DeleteFunc(left, func(l leftRoom) bool { return slices.Contains(joined, l.Room) })
	return left
}

// joinedRooms asks the homeserver which rooms the bot is in, with its stored login.
func joinedRooms(ctx context.Context, cfg *settings.Config) ([]string, error) {
	stored := cli.LoadLogin(cfg)
	if !stored.Token.Set() {
		return nil, errors.New("cannot tell which rooms the bot has left: it has not logged in yet")
	}
	var answer struct {
		Rooms []string `json:"joined_rooms"`
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	status, err := cli.Ask(ctx, cli.Request{URL: stored.Homeserver + "/_matrix/client/v3/joined_rooms",
		Bearer: stored.Token}, &answer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot tell which rooms the bot has left: the homeserver does not answer: %w", err)
	case status != http.StatusOK:
		return nil, fmt.Errorf("cannot tell which rooms the bot has left: the homeserver answers with status %d", status)
	case len(answer.Rooms) == 0: // more likely the homeserver has lost its database
		return nil, errors.New("cannot tell which rooms the bot has left: the homeserver says that it is in none at all")
	}
	return answer.Rooms, nil
}

// printLeft lists the rooms that the bot has left.
func printLeft(w io.Writer, left []leftRoom) error {
	if len(left) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nThe bot has left these rooms. `matrix-tui rooms -remove-left` removes what is kept of them.\n")
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ROOM\tCONTAINER\tSPACE\tLAST ACTIVE")
	for _, l := range left {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", clean.Short(l.Room, 80), l.Container, l.space(), lastActive(l))
	}
	return table.Flush()
}

func lastActive(l leftRoom) string {
	if l.Last.IsZero() {
		return "unknown"
	}
	return l.Last.Local().Format(cli.Minute)
}

// removeLeft removes, for good, what is kept of rooms that the bot has left and that have not been active for a time.
func removeLeft(ctx context.Context, cfg *settings.Config, older time.Duration, w io.Writer) (err error) {
	dir := string(cfg.StateDir)
	if state.InUse(dir) {
		return sentence.New(errors.New("the bot is running"),
			"the bot is running: stop it first (`systemctl stop matrix-tui`; in a cluster, MAINTENANCE=true), and start it "+
				"again afterwards; tasks continue in their containers")
	}
	lock, err := state.Lock(dir)
	if err != nil {
		return err
	}
	defer cli.Closing(&err, lock.Close)
	podman, err := engine.Connect(ctx, cfg, nil, zerolog.Nop())
	if err != nil {
		return err
	}
	defer podman.Close()
	left, err := leftRooms(ctx, cfg, podman)
	if err != nil {
		return err
	}
	journal, store, err := state.Open(ctx, dir, zerolog.Nop())
	if err != nil {
		return err
	}
	defer cli.Closing(&err, journal.Close)
	defer cli.Closing(&err, store.Close)
	transcripts, err := transcripts.Open(dir, zerolog.Nop())
	if err != nil {
		return err
	}
	removed := 0
	for _, l := range left {
		if older > 0 && (l.Last.IsZero() || time.Since(l.Last) < older) {
			fmt.Fprintf(w, "kept     %s, last active %s\n", clean.Short(l.Room, 80), lastActive(l))
			continue
		}
		if err := podman.Remove(ctx, l.Container, l.Room, l.Volumes); err != nil {
			return err
		}
		err := transcripts.Remove(l.Room)
		if l.Volumes != "" {
			err = errors.Join(err, transcripts.Remove(l.Volumes), journal.Removal.Room(ctx, l.Volumes)) // of the one before
		}
		err = errors.Join(err, journal.Removal.Room(ctx, l.Room), journal.Memory.Clear(ctx, l.Room),
			memory.Remove(dir, l.Room))
		if err := errors.Join(err, store.RemoveRoom(ctx, l.Room)); err != nil { // last: until then it is listed
			return err
		}
		removed++
		fmt.Fprintf(w, "removed  %s, %s\n", clean.Short(l.Room, 80), l.space())
	}
	if removed == 0 {
		fmt.Fprintln(w, "Nothing to remove.")
	}
	return nil
}

// parseAge reads a duration, also in days.
func parseAge(text string) (time.Duration, error) {
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 15)
		age = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || age < 0 {
		return 0, errors.New("expected a time such as 30d or 12h")
	}
	return age, nil
}

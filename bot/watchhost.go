package bot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/event"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

const (
	watchEvery = time.Minute
	alertTime  = 20 * time.Second // of one message
)

// hostWatch keeps where trouble of the host is told.
type hostWatch struct {
	mu   sync.Mutex // held for a whole look: what was told is told once
	kept *alerts    // nil before the first use
}

// watchHost looks after the host until ctx ends.
func (b *Bot) watchHost(ctx context.Context) {
	for ctx.Err() == nil {
		b.lookAfterHost(ctx)
		_ = retry.Sleep(ctx, watchEvery)
	}
}

// lookAfterHost tells the owners' room what runs short. It goes past the
// journal: a full disk is one of the things to tell.
func (b *Bot) lookAfterHost(ctx context.Context) {
	b.watch.mu.Lock()
	defer b.watch.mu.Unlock()
	a := b.loadAlerts()
	room := b.alertRoom(a)
	if room == "" {
		return
	}
	short, over, next := a.decide(time.Now(), b.readHost(ctx))
	if len(short)+len(over) == 0 {
		return
	}
	m := notice(alertText(short, over))
	if len(short) > 0 {
		m.MsgType = matrix.MsgText
		m.Mentions.UserIDs = append(m.Mentions.UserIDs, b.Owners...)
	}
	call, cancel := context.WithTimeout(ctx, alertTime)
	defer cancel()
	_, err := b.account.Send(call, room, event.TypeMessage, "", m)
	if err != nil {
		b.log.Warn().Err(err).Str("room", room).Int("short", len(short)).Msg("the alert could not be sent")
		if matrix.Transient(err) || matrix.IsNotEncrypted(err) || ctx.Err() != nil {
			return // again at the next look
		}
	}
	if err := b.keepAlerts(next); err != nil {
		b.log.Warn().Err(err).Msg("keep alerts")
	}
}

// alertRoom is where alerts go, "" for nowhere.
func (b *Bot) alertRoom(a *alerts) string {
	switch {
	case a.Off:
		return ""
	case a.Room != "":
		return a.Room
	}
	return b.AlertRoom
}

// readHost measures what can run short. What cannot be measured is left out.
func (b *Bot) readHost(ctx context.Context) (readings []reading) {
	free, device, err := FreeSpace(b.StateDir)
	if err == nil {
		readings = append(readings, diskReading(alertState, "my state", b.StateDir, free))
	}
	ctx, cancel := context.WithTimeout(ctx, alertTime)
	defer cancel()
	if path, err := b.Podman.Storage(ctx); err == nil {
		if free, other, err := FreeSpace(path); err == nil && other != device {
			readings = append(readings, diskReading(alertStorage, "the containers", path, free))
		}
	}
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		if available, ok := MemInfo(data, "MemAvailable"); ok {
			readings = append(readings, memoryReading(available))
		}
	}
	return append(readings, quotaReading(b.Gateway.Limited()))
}

// FreeSpace is what a user may still write at a path, in bytes, and on which
// device that is. Where the path is closed to us, it is what is around it.
func FreeSpace(path string) (free, device uint64, err error) {
	var fs unix.Statfs_t
	var st unix.Stat_t
	for {
		err = errors.Join(unix.Statfs(path, &fs), unix.Stat(path, &st))
		if err == nil {
			return fs.Bavail * uint64(fs.Bsize), st.Dev, nil
		}
		if parent := filepath.Dir(path); errors.Is(err, unix.EACCES) && parent != path {
			path = parent
			continue
		}
		return 0, 0, fmt.Errorf("look at the disk of %s: %w", path, err)
	}
}

// MemInfo reads a line of /proc/meminfo, such as MemAvailable, in bytes.
func MemInfo(meminfo []byte, name string) (bytesOf uint64, ok bool) {
	for line := range bytes.Lines(meminfo) {
		fields := bytes.Fields(line)
		if len(fields) >= 2 && string(fields[0]) == name+":" {
			kb, err := strconv.ParseUint(string(fields[1]), 10, 50)
			return kb << 10, err == nil
		}
	}
	return 0, false
}

func (b *Bot) alertsFile() string { return filepath.Join(b.StateDir, "alerts.json") }

// loadAlerts reads alerts.json once; one that cannot be read begins anew. The
// caller holds the watch.
func (b *Bot) loadAlerts() *alerts {
	if b.watch.kept != nil {
		return b.watch.kept
	}
	b.watch.kept = &alerts{}
	data, err := os.ReadFile(b.alertsFile())
	if err == nil {
		err = json.Unmarshal(data, b.watch.kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.Warn().Err(err).Msg("alerts.json cannot be read: the setting ALERT_ROOM holds")
		b.watch.kept = &alerts{}
	}
	return b.watch.kept
}

// keepAlerts remembers what was told, also where the disk is full and does not
// take it. The caller holds the watch.
func (b *Bot) keepAlerts(a alerts) error {
	b.watch.kept = &a
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("keep alerts: %w", err)
	}
	if err := renameio.WriteFile(b.alertsFile(), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep alerts: %w", err)
	}
	return nil
}

// doAlerts has trouble of the host told in this room, or nowhere.
func (r *room) doAlerts(ctx context.Context, row state.Inbound, text string) error {
	b := r.bot
	where := ""
	b.watch.mu.Lock()
	next := *b.loadAlerts()
	switch text {
	case "here":
		next.Room, next.Off = r.id, false
		where = "I tell you here when disk, memory or the model's quota runs short. "
	case "off":
		next.Room, next.Off = "", true
		where = "I tell nobody when disk, memory or the model's quota runs short; `!alerts here` in the room of your choice changes that. "
	default:
		b.watch.mu.Unlock()
		return r.tell(ctx, row, "`!alerts here` has me tell this room when the host runs short of something, `!alerts off` nobody.")
	}
	err := b.keepAlerts(next)
	b.watch.mu.Unlock()
	if err != nil {
		return err
	}
	readings := b.readHost(ctx)
	if err := r.tell(ctx, row, where+standing(readings)); err != nil {
		return err
	}
	b.lookAfterHost(ctx)
	return nil
}

package media

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// moveScript moves entries out of the outbox: folder, name, new name, repeated. Existing files in the target stay
// within prune's limits: $2 and $3 are those, $4 the inodes of what is moved. Exit code 5: something is still there.
const moveScript = enter + pruneScript + `now=$1 files=$2 bytes=$3 moved=$4 failed=0; shift 4
rm -f ` + packed + `
while [ $# -ge 3 ]; do
	to=$1; path "$3"; name=$f; path "$2"; shift 3
	[ -e "./$f" ] || [ -L "./$f" ] || continue
	if [ -L "$to" ] || { [ -e "$to" ] && [ ! -d "$to" ]; }; then mv -- "$to" "$to.$now"; fi
	mkdir -p "$to" || { failed=5; continue; }
	t=$to/$name n=1
	while [ -e "$t" ] || [ -L "$t" ]; do
		n=$((n + 1)) t=$to/$((n))-$name
		[ "$n" -lt 50 ] || { t=$to/$now-$name; break; }
	done
	mv -- "./$f" "$t" || failed=5
done 2>/dev/null
for f in sent refused; do
	(cd "$f" && [ "$(pwd -P)" = "/workspace/outbox/$f" ] && prune "$files" "$bytes" "$moved") 2>/dev/null
done
exit "$failed"`

// MarkSent moves collected files to outbox/sent/ in the container, and those refused for good to outbox/refused/, under
// unused names. Anything that has changed since it was collected stays, to be collected again. The oldest sent or
// refused files are deleted above the limits. It may be repeated.
func MarkSent(ctx context.Context, container Container, b *Batch) error {
	if len(b.Items) == 0 && len(b.aside) == 0 {
		return nil
	}
	entries, _, err := list(ctx, container, "", 1)
	if errors.Is(err, errNoOutbox) || errors.Is(err, errOddOutbox) {
		return nil
	}
	if err != nil {
		return err
	}
	now := map[string]entry{}
	for _, e := range entries {
		now[e.path] = e
	}
	var args, inodes []string
	move := func(to string, f found) error {
		e, ok := now[f.entry.path]
		if !ok || e.meta != f.entry.meta {
			return nil
		}
		is, err := look(ctx, container, e, f.levels)
		if err == nil && is.sign() == f.sign() {
			inodes = append(inodes, e.inode())
			args = append(args, to, escape(f.entry.path), escape(movedName(f.entry.path)))
		}
		return late(ctx, err)
	}
	for _, item := range b.Items {
		err = errors.Join(err, move("sent", item.source))
	}
	for _, f := range b.aside {
		err = errors.Join(err, move("refused", f))
	}
	if len(args) == 0 {
		return err
	}
	head := []string{time.Now().UTC().Format("20060102T150405.000000000"), strconv.Itoa(keptFiles),
		strconv.Itoa(keptBytes), strings.Join(inodes, " ")}
	result, moved := script(ctx, container, 1<<10, moveScript, append(head, args...)...)
	if moved == nil && result.Code != 0 {
		moved = fmt.Errorf("exit code %d", result.Code)
	}
	if moved != nil {
		moved = fmt.Errorf("move sent files: %w", moved)
	}
	return errors.Join(err, moved)
}

// movedName returns the name after the move, cut if a number would make it too long.
func movedName(name string) string {
	if len(name) > 200 || !utf8.ValidString(name) {
		return CleanName(name)
	}
	return name
}

package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"matrix-tui/sandbox"
)

const (
	// maxPath bounds a path below the outbox, in bytes.
	maxPath = 1024
	// maxListing bounds one listing, in bytes: about 2,000 files.
	maxListing = 256 << 10
	// block is the alignment of pieces, in bytes.
	block = 64 << 10
	// chunk is how many bytes of a file one command returns.
	chunk = 4 << 20
	// readTimeout bounds one command in the container: a file that was just replaced by a pipe blocks its reader.
	readTimeout = time.Minute
)

// enter changes to the outbox, if it is a folder and not a link. Exit code 3: it does not exist; 4: it is something
// else.
const enter = `cd /workspace 2>/dev/null || exit 3
[ -L outbox ] && exit 4
[ -e outbox ] || exit 3
cd outbox 2>/dev/null || exit 4
[ "$(pwd -P)" = /workspace/outbox ] || exit 4
path() { f=$(printf '%b.' "$1"); f=${f%.}; }
`

// listScript lists what is below $1, $2 levels deep, at most $3 bytes.
const listScript = enter + `path "$1"
find ".${f:+/$f}" -mindepth 1 -maxdepth "$2" ! -path ./sent ! -path ./refused \
	-exec stat -c "$4" -- {} + 2>/dev/null | head -c "$3"`

// readScript writes a piece of the file $1: $3 bytes from block $2 on, with what stat says about the open file before
// and after it.
const readScript = enter + `path "$1"
[ ! -L "./$f" ] && [ -f "./$f" ] && {
	stat -L -c "$4" /proc/self/fd/3
	dd bs=65536 skip="$2" <&3 | head -c "$3"
	echo
	stat -L -c "$4" /proc/self/fd/3
} 2>/dev/null 3<"./$f"`

var (
	// errNoOutbox: the container has no outbox; errOddOutbox: it is not a folder.
	errNoOutbox  = errors.New("no outbox")
	errOddOutbox = errors.New("the outbox is not a folder")
)

// script runs one of the scripts in the container. Its output is at most max bytes.
func script(ctx context.Context, container Container, max int64, text string, args ...string) (sandbox.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	result, err := container.Exec(ctx, sandbox.Cmd{
		Argv: append([]string{"/bin/sh", "-c", text, "outbox"}, args...), Dir: "/", MaxOutput: max,
		Env: []string{"LC_ALL=C", "TZ=UTC"},
	})
	switch {
	case err != nil:
		return result, err
	case result.Code == 3:
		return result, errNoOutbox
	case result.Code == 4:
		return result, errOddOutbox
	}
	return result, nil
}

// list lists a folder of the outbox, "" = the outbox itself. cut reports that there is more than was listed.
func list(ctx context.Context, container Container, below string, levels int) (entries []entry, cut bool, err error) {
	result, err := script(ctx, container, maxListing, listScript,
		escape(below), strconv.Itoa(levels), strconv.Itoa(maxListing), lineFormat)
	if err != nil {
		return nil, false, fmt.Errorf("list the outbox: %w", err)
	}
	cut = result.Truncated || len(result.Stdout) >= maxListing
	return parseListing(result.Stdout, cut), cut, nil
}

// read returns length bytes of a file from offset on, which is a multiple of block.
func read(ctx context.Context, container Container, e entry, offset, length int64) ([]byte, error) {
	room := 1<<10 + length + 2*int64(len(e.meta))
	result, err := script(ctx, container, room, readScript,
		escape(e.path), strconv.FormatInt(offset/block, 10), strconv.FormatInt(length, 10), metaFormat)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return parsePiece(result.Stdout, e, length)
}

// parsePiece returns the bytes between stat's two answers, unless the file has changed.
func parsePiece(out []byte, e entry, length int64) ([]byte, error) {
	data, before := bytes.CutPrefix(out, []byte(e.meta+"\n"))
	data, after := bytes.CutSuffix(data, []byte("\n"+e.meta+"\n"))
	if !before || !after || int64(len(data)) != length {
		return nil, errChanged
	}
	return data, nil
}

package media

import (
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
	// chunk is how many bytes of files one command returns.
	chunk = 4 << 20
	// chunkFiles is how many files one command reads.
	chunkFiles = 100
	// readTimeout bounds one command in the container: a file that was just replaced by a pipe blocks its reader.
	readTimeout = 30 * time.Second
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

// readScript writes pieces of files: path, first block and length, repeated. stat describes the file that is open.
const readScript = enter + `stat=$1; shift
while [ $# -ge 3 ]; do
	path "$1"; skip=$2 n=$3; shift 3
	[ ! -L "./$f" ] && [ -f "./$f" ] && {
		stat -L -c "$stat" /proc/self/fd/3
		dd bs=65536 skip="$skip" <&3 | head -c "$n"
		echo
		stat -L -c "$stat" /proc/self/fd/3
	} 2>/dev/null 3<"./$f" || echo -
done`

// errNoOutbox says that the container has no outbox; errOddOutbox, that something else
// is in its place.
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

// list lists a folder of the outbox, "" = the outbox itself. cut reports that there is
// more than was listed.
func list(ctx context.Context, container Container, below string, levels int) (entries []entry, cut bool, err error) {
	result, err := script(ctx, container, maxListing, listScript,
		escape(below), strconv.Itoa(levels), strconv.Itoa(maxListing), lineFormat)
	if err != nil {
		return nil, false, fmt.Errorf("list the outbox: %w", err)
	}
	cut = result.Truncated || len(result.Stdout) >= maxListing
	return parseListing(result.Stdout, cut), cut, nil
}

// read returns the pieces, as many as fit into one response. Pieces missing at the end, beginning with the first
// missing one, have changed.
func read(ctx context.Context, container Container, pieces []piece) ([][]byte, error) {
	args := []string{metaFormat}
	room := int64(1 << 10)
	for _, p := range pieces {
		args = append(args, escape(p.entry.path), strconv.FormatInt(p.offset/block, 10), strconv.FormatInt(p.length, 10))
		room += p.length + 2*int64(len(p.entry.meta)) + 8
	}
	result, err := script(ctx, container, room, readScript, args...)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return parsePieces(result.Stdout, pieces), nil
}

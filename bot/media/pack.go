package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"matrix-tui/bot/text"
)

const archiveExt = ".tar.gz"

// packed is where an archive is written, below the outbox: where no listing finds it. moveScript removes it.
const packed = "sent/.packed" + archiveExt

// packScript writes the folder $1 as .tar.gz, reproducibly, and prints stat's answer about that. In the archive, the
// folder is called $2. Anything but folders and regular files with a single link is left out.
const packScript = enter + `path "$1"; as=$2 stat=$3
mkdir -p sent && rm -f ` + packed + ` && [ ! -L "./$f" ] && cd -P -- "./$f" || exit 5
find . -mindepth 1 -xdev \( -type d -o -type f -links 1 \) -print0 | sort -z |
	tar -c --null --no-recursion --numeric-owner --owner=0 --group=0 --mode=u+rwX,go+rX,go-w,a-st \
		--transform "s,^\.,$as," -I 'gzip -n' -f /workspace/outbox/` + packed + ` -T - 2>/dev/null || exit 5
stat -c "$stat" /workspace/outbox/` + packed

// pack archives a folder in the container and returns the archive.
func pack(ctx context.Context, container Container, f found, limits Limits) (e entry, err error) {
	result, err := script(ctx, container, 1<<10, packScript, escape(f.entry.path), CleanName(f.entry.path), metaFormat)
	if err != nil {
		return e, fmt.Errorf("pack a folder: %w", err)
	}
	e, ok := parseMeta(strings.TrimSuffix(string(result.Stdout), "\n"))
	if e.path = packed; result.Code != 0 || !ok || odd(e) != "" {
		return e, &refusal{why: "could not be packed; it stays in the outbox for next time"}
	}
	if e.size > limits.Item {
		return e, &refusal{why: "is larger than the " + text.Size(limits.Item) + " that I send", final: true}
	}
	return e, nil
}

// fetchFile copies one file from the outbox, piece by piece.
func fetchFile(ctx context.Context, container Container, e entry, w io.Writer) error {
	for offset := int64(0); offset < e.size; offset += chunk {
		data, err := read(ctx, container, e, offset, min(chunk, e.size-offset))
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("store a file: %w", err)
		}
	}
	return nil
}

// late returns a refusal for a command that took too long although there is time for others, or for an outbox that is
// gone.
func late(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return &refusal{why: "could not be read in time", final: true}
	}
	if errors.Is(err, errNoOutbox) || errors.Is(err, errOddOutbox) {
		return errChanged
	}
	return err
}

// examine finds out what a collected file is. attempt is Limits.Attempt.
func (i *Item) examine(ctx context.Context, data *os.File,
	attempt func(context.Context, string, func() bool) error) error {
	sum := sha256.New()
	_, _ = io.WriteString(sum, i.Name+"\x00"+i.source.identity()+"\x00")
	size, err := io.Copy(sum, io.NewSectionReader(data, 0, 1<<62))
	if err != nil {
		return fmt.Errorf("examine a file: %w", err)
	}
	i.Size, i.Key = size, hex.EncodeToString(sum.Sum(nil)[:10])
	head := make([]byte, sniffed)
	n, err := data.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("examine a file: %w", err)
	}
	i.Type = Sniff(head[:n], ours[strings.ToLower(extension(i.Name))])
	i.Animated = animated(head[:n], i.Type)
	i.Width, i.Height = dimensions(data, i.Type)
	if !scalable(i.Type, i.Width, i.Height) {
		return nil
	}
	scale := func() bool {
		i.Thumb = thumbnail(ctx, data, i.Type, i.Width, i.Height)
		return i.Thumb != nil
	}
	if attempt == nil {
		scale()
		return nil
	}
	return attempt(ctx, i.Key, scale)
}

package media

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

const archiveExt = ".tar.gz"

// fetchFile copies one file from the outbox.
func fetchFile(ctx context.Context, container Container, e entry, w io.Writer) error {
	return fetchAll(ctx, container, []entry{e}, func(_ entry, data []byte) error {
		_, err := w.Write(data)
		return err
	})
}

// fetchAll reads files one after the other and passes their bytes to use, part by part. An empty file has one part of
// no bytes.
func fetchAll(ctx context.Context, container Container, files []entry, use func(entry, []byte) error) error {
	for _, request := range requests(files) {
		data, err := read(ctx, container, request)
		if err != nil {
			return err
		}
		if len(data) < len(request) {
			return errChanged
		}
		for i, p := range request {
			if err := use(p.entry, data[i]); err != nil {
				return err
			}
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

// requests splits files into commands: none returns more than chunk bytes or more than
// chunkFiles pieces.
func requests(files []entry) (all [][]piece) {
	var request []piece
	room := int64(chunk)
	flush := func() {
		if len(request) > 0 {
			all = append(all, request)
		}
		request, room = nil, chunk
	}
	for _, e := range files {
		for offset := int64(0); offset == 0 || offset < e.size; offset += chunk {
			p := piece{e, offset, min(chunk, e.size-offset)}
			if p.length > room || len(request) == chunkFiles {
				flush()
			}
			request, room = append(request, p), room-p.length
		}
	}
	flush()
	return all
}

// pack writes a folder of the outbox as .tar.gz, reproducibly. Anything but regular
// files is left out.
func pack(ctx context.Context, container Container, f found, w io.Writer) error {
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	names := map[string]bool{}
	root := CleanName(f.entry.path)
	name := func(e entry) (string, bool) {
		name, ok := root+archived(strings.TrimPrefix(e.path, f.entry.path)), true
		if names[name] {
			ok = false // two names that look the same
		}
		names[name] = true
		return name, ok
	}
	var files []entry
	named := map[string]string{}
	for _, e := range f.within {
		if !strings.HasPrefix(e.path, f.entry.path+"/") {
			return errChanged
		}
		if !e.isDir() && odd(e) != "" {
			continue
		}
		name, ok := name(e)
		if !ok {
			continue
		}
		if !e.isDir() {
			files, named[e.path] = append(files, e), name
		} else if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755,
			ModTime: e.time}); err != nil {
			return fmt.Errorf("pack a folder: %w", err)
		}
	}
	begun := ""
	err := fetchAll(ctx, container, files, func(e entry, data []byte) error {
		if begun != e.path {
			begun = e.path
			mode := int64(0o644) | int64(e.mode&0o100)/0o100*0o111
			if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: named[e.path], Size: e.size, Mode: mode,
				ModTime: e.time}); err != nil {
				return fmt.Errorf("pack a file: %w", err)
			}
		}
		_, err := archive.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(archive.Close(), zip.Close())
}

// archived returns a path for an archive: unchanged, because programs find their files by name, except for invisible
// characters and anything that another system would read as a path upwards.
func archived(path string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r == '\\' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(path, "_"))
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

package memory

import (
	"context"
	"database/sql"
	"path"
	"strings"
)

// OriginFolded is the origin of a daily log that is no longer a file.
const OriginFolded = "folded"

// foldedFolder is where folded logs are in the index.
const foldedFolder = "earlier/"

// Folded reports whether a document was a daily log that is no longer a file, and returns the file's name.
func Folded(document string) (name string, ok bool) {
	name, ok = strings.CutPrefix(document, foldedFolder)
	return name, ok
}

// Fold keeps a file of the workspace for good, and adds a line that stands for it. The file may then be removed (see
// Unlink). It may be repeated.
func (x *Index) Fold(ctx context.Context, file, text string, line Line) error {
	source, _ := SourceOf(file)
	doc := Markdown(source, file, text)
	doc.Path, doc.Origin = foldedFolder+path.Base(file), OriginFolded
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		written, err := readLines(ctx, tx, "path = ?", file)
		if err != nil {
			return err
		}
		events := map[string]string{}
		for _, l := range written {
			events[string(hashOf(l.Text))] = l.Event
		}
		for i, e := range doc.Entries { // so that a redaction finds it
			doc.Entries[i].Event = events[string(hashOf(e.Text))]
		}
		w := newWriter(ctx, tx)
		if _, err := w.put(&doc); err != nil {
			return err
		}
		if err := w.addLines([]Line{line}); err != nil {
			return err
		}
		return w.finish()
	})
	return x.failed("fold log", err)
}

// Unlink records that a file of the workspace was removed, with all of its lines.
func (x *Index) Unlink(ctx context.Context, file string) error {
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		if _, err := w.exec("DELETE FROM line WHERE path = ?", file); err != nil {
			return err
		}
		source, _ := SourceOf(file)
		if _, err := w.put(&Document{Source: source, Path: file}); err != nil {
			return err
		}
		return w.finish()
	})
	return x.failed("note removed file", err)
}

// Files lists the documents of these sources that are files.
func (x *Index) Files(ctx context.Context, sources ...Source) ([]string, error) {
	var all []string
	for _, source := range sources {
		paths, err := texts(ctx, x.db, "SELECT path FROM document WHERE source = ? AND origin = '' ORDER BY path", source)
		if err != nil {
			return nil, x.failed("list files", err)
		}
		all = append(all, paths...)
	}
	return all, nil
}

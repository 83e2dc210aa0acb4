// Package pages reads the rows of a damaged SQLite database page by page, without
// SQLite. It needs neither a readable header nor a readable tree above a row: whatever
// is on an undamaged leaf page is found.
//
// It never writes, trusts no number in the file, and does not know which table a row
// belongs to: its caller decides that by the row's shape.
package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

const (
	magic       = "SQLite format 3\x00"
	usualSize   = 4096 // of a page, if neither header nor WAL says it
	lockAt      = 1 << 30
	maxPayload  = 64 << 20
	maxColumns  = 500
	headerBytes = 100
)

// File is the committed content of a database and its WAL.
type File struct {
	db, wal  *os.File // wal may be nil
	pageSize int
	usable   int              // bytes of a page that SQLite uses
	count    uint32           // pages
	inWAL    map[uint32]int64 // offset of a page's newest committed version in wal
	skip     map[uint32]bool  // pages without rows: free, or about pages
	version  int
}

// Open opens the database at path. It reports an error only if the file cannot be read
// at all; damage is not an error.
func Open(path string) (*File, error) {
	db, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open damaged database: %w", err)
	}
	f := &File{db: db, version: -1, inWAL: map[uint32]int64{}, skip: map[uint32]bool{}}
	f.wal, err = os.Open(path + "-wal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = db.Close()
		return nil, fmt.Errorf("open damaged database: %w", err)
	}
	info, err := db.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open damaged database: %w", err)
	}
	f.layout(info.Size())
	return f, nil
}

// Close closes the files.
func (f *File) Close() {
	_ = f.db.Close()
	if f.wal != nil {
		_ = f.wal.Close()
	}
}

// Pages returns the number of pages.
func (f *File) Pages() int { return int(f.count) }

// Version returns the user_version in the header, or -1 if the header is damaged.
func (f *File) Version() int { return f.version }

// layout finds out the size and the number of pages and which of them have no rows.
func (f *File) layout(size int64) {
	head := make([]byte, headerBytes)
	f.pageSize = usualSize
	if _, err := f.db.ReadAt(head, 0); err == nil && string(head[:len(magic)]) == magic {
		f.pageSize = sizeOf(head[16:])
	}
	f.usable = f.pageSize
	f.count = uint32(min((size+int64(f.pageSize)-1)/int64(f.pageSize), 1<<30))
	f.readWAL()
	first := f.page(1)
	if first == nil || string(first[:len(magic)]) != magic || sizeOf(first[16:]) != f.pageSize {
		return
	}
	if reserved := int(first[20]); f.pageSize-reserved >= 480 {
		f.usable = f.pageSize - reserved
	}
	f.version = int(int32(binary.BigEndian.Uint32(first[60:])))
	f.skipFree(binary.BigEndian.Uint32(first[32:]))
	if binary.BigEndian.Uint32(first[52:]) != 0 { // auto_vacuum: pages that list each page's parent
		for n := uint32(2); n <= f.count; n += uint32(f.usable/5) + 1 {
			f.skip[n] = true
		}
	}
	f.skip[uint32(lockAt/f.pageSize)+1] = true
}

// sizeOf returns the page size that a header says, or the usual one.
func sizeOf(field []byte) int {
	size := int(binary.BigEndian.Uint16(field))
	if size == 1 {
		return 65536
	}
	if size < 512 || size&(size-1) != 0 {
		return usualSize
	}
	return size
}

// skipFree skips the free pages: their content may be old versions of rows.
func (f *File) skipFree(trunk uint32) {
	for trunk != 0 && trunk <= f.count && !f.skip[trunk] {
		f.skip[trunk] = true
		page := f.page(trunk)
		if page == nil {
			return
		}
		n := binary.BigEndian.Uint32(page[4:])
		if int64(n) > int64(f.usable/4-2) {
			return
		}
		for i := range n {
			f.skip[binary.BigEndian.Uint32(page[8+4*i:])] = true
		}
		trunk = binary.BigEndian.Uint32(page)
	}
}

// page returns the newest committed version of a page, or nil if it cannot be read.
func (f *File) page(n uint32) []byte {
	if n == 0 || n > f.count {
		return nil
	}
	data := make([]byte, f.pageSize)
	from, at := io.ReaderAt(f.db), int64(n-1)*int64(f.pageSize)
	if offset, ok := f.inWAL[n]; ok {
		from, at = f.wal, offset
	}
	if _, err := from.ReadAt(data, at); err != nil {
		return nil
	}
	return data
}

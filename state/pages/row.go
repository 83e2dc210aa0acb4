package pages

import (
	"encoding/binary"
	"math"
)

// Row is a row of a table, or an entry of an index.
type Row struct {
	Index  bool  // from an index or a table WITHOUT ROWID
	ID     int64 // the rowid of a table's row
	Values []any // nil, int64, float64, string or []byte
}

// Kinds of b-tree pages.
const (
	indexInner = 2
	tableInner = 5
	indexLeaf  = 10
	tableLeaf  = 13
)

// Rows calls found for each row. It returns the number of pages that hold no row that
// can be read although they should: what was on them is lost.
func (f *File) Rows(found func(Row)) (lost int) {
	seen := map[uint32]bool{}
	for n := uint32(1); n <= f.count; n++ {
		if f.skip[n] {
			seen[n] = true
			continue
		}
		whole := true
		for row := range f.cells(n, seen, &whole) {
			found(row)
		}
		if whole {
			seen[n] = true
		}
	}
	for n := uint32(1); n <= f.count; n++ {
		if !seen[n] {
			lost++
		}
	}
	return lost
}

// cells yields the rows on a page and adds the pages to which they continue to seen.
// whole becomes false if the page is not one of a b-tree, or is damaged.
func (f *File) cells(n uint32, seen map[uint32]bool, whole *bool) func(func(Row) bool) {
	return func(yield func(Row) bool) {
		page := f.page(n)
		start := 0
		if n == 1 {
			start = headerBytes
		}
		if page == nil {
			*whole = false
			return
		}
		kind, inner := page[start], 0
		switch kind {
		case indexInner, tableInner:
			inner = 4
		case indexLeaf, tableLeaf:
		default:
			*whole = false
			return
		}
		if kind == tableInner { // contains only page numbers
			return
		}
		count, pointers := int(binary.BigEndian.Uint16(page[start+3:])), start+8+inner
		if pointers+2*count > f.usable {
			*whole = false
			return
		}
		for i := range count {
			at := int(binary.BigEndian.Uint16(page[pointers+2*i:]))
			row, ok := f.cell(page, at+inner, kind, seen)
			if !ok {
				*whole = false
			} else if !yield(row) {
				return
			}
		}
	}
}

// cell reads the row at an offset of a page.
func (f *File) cell(page []byte, at int, kind byte, seen map[uint32]bool) (Row, bool) {
	row := Row{Index: kind != tableLeaf}
	if at >= f.usable {
		return row, false
	}
	rest := page[at:f.usable]
	size, n := varint(rest)
	if rest = rest[n:]; n == 0 || size > maxPayload {
		return row, false
	}
	if kind == tableLeaf {
		id, n := varint(rest)
		if rest = rest[n:]; n == 0 {
			return row, false
		}
		row.ID = int64(id)
	}
	payload, ok := f.payload(rest, int(size), row.Index, seen)
	if !ok {
		return row, false
	}
	row.Values, ok = values(payload)
	return row, ok
}

// payload returns the bytes of a row: those on its page, and the rest on overflow pages.
func (f *File) payload(rest []byte, size int, index bool, seen map[uint32]bool) ([]byte, bool) {
	most, least := f.usable-35, (f.usable-12)*32/255-23
	if index {
		most = (f.usable-12)*64/255 - 23
	}
	if size <= most {
		if size > len(rest) {
			return nil, false
		}
		return rest[:size], true
	}
	local := least + (size-least)%(f.usable-4)
	if local > most {
		local = least
	}
	if local+4 > len(rest) {
		return nil, false
	}
	all := append([]byte(nil), rest[:local]...)
	next := binary.BigEndian.Uint32(rest[local:])
	var chain []uint32
	for len(all) < size {
		page := f.page(next)
		if page == nil || f.skip[next] || seen[next] || len(chain) > int(f.count) {
			return nil, false
		}
		chain = append(chain, next)
		all = append(all, page[4:4+min(f.usable-4, size-len(all))]...)
		next = binary.BigEndian.Uint32(page)
	}
	if next != 0 {
		return nil, false
	}
	for _, n := range chain {
		seen[n] = true
	}
	return all, true
}

// values decodes a record (https://www.sqlite.org/fileformat2.html#record_format).
func values(record []byte) ([]any, bool) {
	size, n := varint(record)
	if n == 0 || size < uint64(n) || size > uint64(len(record)) {
		return nil, false
	}
	types, body := record[n:size], record[size:]
	var all []any
	for len(types) > 0 {
		kind, n := varint(types)
		if n == 0 || len(all) == maxColumns {
			return nil, false
		}
		types = types[n:]
		value, used, ok := valueOf(kind, body)
		if !ok {
			return nil, false
		}
		all, body = append(all, value), body[used:]
	}
	return all, len(body) == 0
}

func valueOf(kind uint64, body []byte) (value any, used int, ok bool) {
	switch kind {
	case 0:
		return nil, 0, true
	case 8, 9:
		return int64(kind - 8), 0, true
	case 10, 11:
		return nil, 0, false
	}
	if kind >= 12 {
		size := (kind - 12) / 2
		if size > uint64(len(body)) {
			return nil, 0, false
		}
		if kind%2 == 0 {
			return body[:size:size], int(size), true
		}
		return string(body[:size]), int(size), true
	}
	size := []int{1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8}[kind]
	if size > len(body) {
		return nil, 0, false
	}
	number := int64(int8(body[0]))
	for _, b := range body[1:size] {
		number = number<<8 | int64(b)
	}
	if kind == 7 {
		return math.Float64frombits(uint64(number)), size, true
	}
	return number, size, true
}

// varint reads SQLite's variable-length integer; n is 0 if b is too short.
func varint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 8 {
		v = v<<7 | uint64(b[n]&0x7f)
		n++
		if b[n-1] < 0x80 {
			return v, n
		}
	}
	if n < len(b) && n == 8 {
		return v<<8 | uint64(b[8]), 9
	}
	return 0, 0
}

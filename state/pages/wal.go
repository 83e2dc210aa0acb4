package pages

import (
	"encoding/binary"
	"io"
)

const (
	walHeader   = 32
	frameHeader = 24
	walMagic    = 0x377f0682 // the lowest bit says in which byte order the checksums are
)

// readWAL finds the committed pages in the WAL, with SQLite's rules: it ends at the
// first frame whose checksum is wrong, and what follows the last commit does not count.
func (f *File) readWAL() {
	if f.wal == nil {
		return
	}
	head := make([]byte, walHeader)
	if _, err := f.wal.ReadAt(head, 0); err != nil {
		return
	}
	kind := binary.BigEndian.Uint32(head)
	if kind&^1 != walMagic {
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if kind&1 == 1 {
		order = binary.BigEndian
	}
	size := int(binary.BigEndian.Uint32(head[8:]))
	sum := checksum(order, [2]uint32{}, head[:24])
	if size < 512 || size > 65536 || size&(size-1) != 0 || sum != sumAt(head[24:]) {
		return
	}
	if size != f.pageSize { // the database's header is damaged
		f.count = uint32(uint64(f.count) * uint64(f.pageSize) / uint64(size))
		f.pageSize, f.usable = size, size
	}
	inDB := f.count
	pending := map[uint32]int64{}
	frame := make([]byte, frameHeader+size)
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(io.NewSectionReader(f.wal, at, int64(len(frame))), frame); err != nil {
			return
		}
		if string(frame[8:16]) != string(head[16:24]) {
			return
		}
		sum = checksum(order, sum, frame[:8])
		sum = checksum(order, sum, frame[frameHeader:])
		if sum != sumAt(frame[16:]) {
			return
		}
		pending[binary.BigEndian.Uint32(frame)] = at + frameHeader
		if count := binary.BigEndian.Uint32(frame[4:]); count != 0 { // a commit
			for n, offset := range pending {
				f.inWAL[n] = offset
			}
			clear(pending)
			f.count = min(count, inDB+uint32(at/int64(len(frame)))+1)
		}
	}
}

func sumAt(b []byte) [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// checksum continues the WAL's checksum over b, whose length is a multiple of eight.
func checksum(order binary.ByteOrder, sum [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		sum[0] += order.Uint32(b) + sum[1]
		sum[1] += order.Uint32(b[4:]) + sum[0]
	}
	return sum
}

package media

import (
	"slices"
	"strconv"
	"strings"
)

// Limits of the inbox, outbox/sent and outbox/refused, each; the oldest files are removed first. Files of the current
// task are kept in any case.
const (
	keptFiles = 200       // files and folders
	keptBytes = 500 << 20 // bytes, including everything in folders
)

// pruneScript declares prune: it keeps the newest $1 entries of the current folder, of at most $2 bytes together, and
// those with the inodes in $3. Age is the time since an entry was moved there or last changed, which cannot be forged;
// names are never looked at. It counts at most 100,000 entries and removes at most 2,000 at once.
const pruneScript = `prune() {
	find . -xdev -mindepth 1 -printf '%d %i %C@ %s\n' | head -n 100000 |
	awk -v keep=" $3 " 'function one() { if (inode) print index(keep, " " inode " ") ? 1 : 0, time, inode, size }
		$1 == 1 { one(); inode = $2; time = $3; size = 0 } { size += $4 } END { one() }' |
	sort -k 1,1nr -k 2,2nr |
	awk -v files="$1" -v bytes="$2" '{ n++; all += $4 } $1 == 0 && (n > files || all > bytes) { print $3 }' |
	tail -n 2000 | awk '{ if (NR > 1) print "-o"; print "-inum"; print $1 }' |
	xargs -r sh -c 'find . -xdev -mindepth 1 -maxdepth 1 \( "$@" \) -exec rm -rf -- {} +' sh
} </dev/null >/dev/null 2>&1
`

// bringScript makes room in the inbox for a file of $4 bytes with the checksum $3. It prints where the file goes: to
// $1, or to $2 if another file is at $1; $5 and $6 are prune's limits without the new file. The remaining arguments
// are files to keep. An inbox that is a link is left alone.
const bringScript = pruneScript + `to=$1 other=$2 sum=$3 size=$4 files=$5 bytes=$6; shift 6
(cd /workspace/inbox && [ "$(pwd -P)" = /workspace/inbox ] &&
	prune "$files" "$bytes" "$(stat -c %i -- "$@" | tr '\n' ' ')") 2>/dev/null
if [ -e "$to" ] || [ -L "$to" ]; then
	[ -f "$to" ] && [ "$(stat -Lc %s -- "$to")" = "$size" ] && [ "$(sha256sum <"$to" | cut -c1-64)" = "$sum" ] || to=$other
fi
printf %s "$to"`

// bringArgs returns the arguments of bringScript.
func bringArgs(to, other string, f *Fetched, keep []string) []string {
	args := []string{to, other, f.Sum, strconv.FormatInt(f.Size, 10), strconv.Itoa(keptFiles - 1),
		strconv.FormatInt(keptBytes-f.Size, 10)}
	return append(args, keep...)
}

// inode returns the inode in a stat answer, where it follows the device.
func (e entry) inode() string {
	fields := append(strings.Fields(e.meta), "", "", "", "")
	_, inode, _ := strings.Cut(fields[3], ":")
	return inode
}

// identity stays the same as long as the file exists, in any container, and after a reboot, which may renumber devices
// and inodes. A file that was written again, moved away and back, or changed has another one.
func (e entry) identity() string {
	fields := strings.Fields(e.meta)
	if len(fields) > 3 {
		fields = slices.Delete(fields, 3, 4)
	}
	return strings.Join(fields, " ")
}

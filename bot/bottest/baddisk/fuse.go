package baddisk

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// The operations that can fail. Creating and growing a file are writes.
const (
	read   = "read"
	write  = "write"
	toDisk = "sync"
)

// disk is the mounted folder, in the helper.
type disk struct {
	mu    sync.Mutex
	fails map[string]*regexp.Regexp // the names of files
	count int                       // operations that have failed
}

// mount shows the folder at another path.
func mount(folder, at string) (*disk, *fuse.Server, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(folder, &st); err != nil {
		return nil, nil, fmt.Errorf("look at %s: %w", folder, err)
	}
	d := &disk{fails: map[string]*regexp.Regexp{}}
	root := &fs.LoopbackRoot{Path: folder, Dev: st.Dev}
	top := &node{LoopbackNode: fs.LoopbackNode{RootData: root}, disk: d}
	root.RootNode = top
	server, err := fs.Mount(at, top, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, AllowOther: true,
		FsName: "baddisk"}})
	if err != nil {
		return nil, nil, fmt.Errorf("mount %s: %w", at, err)
	}
	return d, server, nil
}

// errno returns EIO if the operation is to fail.
func (d *disk) errno(op string, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if bad := d.fails[op]; bad == nil || !bad.MatchString(name) {
		return fs.OK
	}
	d.count++
	return syscall.EIO
}

// node is a file or a folder.
type node struct {
	fs.LoopbackNode
	disk *disk
}

// WrapChild makes a node of ours of the library's.
func (n *node) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	loopback, ok := child.(*fs.LoopbackNode)
	if !ok {
		return child
	}
	return &node{LoopbackNode: fs.LoopbackNode{RootData: loopback.RootData}, disk: n.disk}
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	handle, kind, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != fs.OK {
		return nil, 0, errno
	}
	name, _ := n.Parent()
	return n.wrap(handle, name), kind, fs.OK
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.disk.errno(write, name); errno != fs.OK {
		return nil, nil, 0, errno
	}
	inode, handle, kind, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno != fs.OK {
		return nil, nil, 0, errno
	}
	return inode, n.wrap(handle, name), kind, fs.OK
}

func (n *node) wrap(handle fs.FileHandle, name string) fs.FileHandle {
	if loopback, ok := handle.(*fs.LoopbackFile); ok {
		return &file{loopback, n.disk, name}
	}
	return handle
}

// file is an open file.
type file struct {
	*fs.LoopbackFile
	disk *disk
	name string // when it was opened
}

// PassthroughFd makes the kernel ask us for each operation.
//
//lint:hides the kernel would read and write without us
func (f *file) PassthroughFd() (int, bool) { return 0, false }

func (f *file) Read(ctx context.Context, buf []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if errno := f.disk.errno(read, f.name); errno != fs.OK {
		return nil, errno
	}
	return f.LoopbackFile.Read(ctx, buf, off)
}

func (f *file) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if errno := f.disk.errno(write, f.name); errno != fs.OK {
		return 0, errno
	}
	return f.LoopbackFile.Write(ctx, data, off)
}

func (f *file) Writev(ctx context.Context, data [][]byte, off int64) (uint32, syscall.Errno) {
	if errno := f.disk.errno(write, f.name); errno != fs.OK {
		return 0, errno
	}
	return f.LoopbackFile.Writev(ctx, data, off)
}

func (f *file) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	if errno := f.disk.errno(write, f.name); errno != fs.OK {
		return errno
	}
	return f.LoopbackFile.Allocate(ctx, off, size, mode)
}

func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	if errno := f.disk.errno(toDisk, f.name); errno != fs.OK {
		return errno
	}
	return f.LoopbackFile.Fsync(ctx, flags)
}

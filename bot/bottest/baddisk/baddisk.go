// Package baddisk mounts a folder through FUSE, so that a test can make operations on chosen files fail, as a dying
// disk would. Everything else is passed on to the folder. It needs root and /dev/fuse.
//
// A helper process serves the file system: a process that reads files which it serves itself may wait for itself
// forever. The helper is the test's own program, so TestMain calls Help first.
package baddisk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// helper is the variable that makes a process the helper: the folder and the path at which it is shown.
const helper = "MATRIX_TUI_BAD_DISK"

// Disk is a mounted folder.
type Disk struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	at  string
}

// Mount shows a folder at another path until Unmount.
func Mount(folder, at string) (*Disk, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	d := &Disk{cmd: exec.Command(self), at: at}
	d.cmd.Env = append(os.Environ(), helper+"="+folder+"\n"+at)
	d.cmd.Stderr = os.Stderr
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.out = bufio.NewReader(out)
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start helper: %w", err)
	}
	if _, err := d.ask("works"); err != nil {
		return nil, errors.Join(fmt.Errorf("mount %s: %w", at, err), d.Unmount())
	}
	return d, nil
}

// Unmount ends it; files that are still open get errors. A nil Disk was never mounted.
func (d *Disk) Unmount() error {
	if d == nil {
		return nil
	}
	err := syscall.Unmount(d.at, syscall.MNT_DETACH)
	_ = d.in.Close()
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	return err
}

// Fail makes an operation (read, write or sync) fail, from now on, on files whose name matches.
func (d *Disk) Fail(op, name string) error {
	_, err := d.ask(op + " " + name)
	return err
}

// Work ends all faults.
func (d *Disk) Work() error {
	_, err := d.ask("works")
	return err
}

// Failed returns how many operations have failed since the last Work.
func (d *Disk) Failed() (int, error) { return d.ask("failed") }

// ask sends a line to the helper, which returns a number or a sentence.
func (d *Disk) ask(line string) (int, error) {
	if _, err := fmt.Fprintln(d.in, line); err != nil {
		return 0, err
	}
	answer, err := d.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(answer))
	if err != nil {
		return 0, errors.New(strings.TrimSpace(answer))
	}
	return n, nil
}

// Help does the helper's work, and does not return, if this process is the helper.
func Help() {
	folder, at, ok := strings.Cut(os.Getenv(helper), "\n")
	if !ok {
		return
	}
	d, _, err := mount(folder, at)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(d.obey(lines.Text()))
	}
	os.Exit(0)
}

// obey answers a line.
func (d *disk) obey(line string) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch op, name, _ := strings.Cut(line, " "); op {
	case "works":
		clear(d.fails)
		d.count = 0
		return 0
	case "failed":
		return d.count
	case read, write, toDisk:
		fits, err := regexp.Compile(name)
		if err != nil {
			return err
		}
		d.fails[op] = fits
		return 0
	default:
		return "no such operation: " + op
	}
}

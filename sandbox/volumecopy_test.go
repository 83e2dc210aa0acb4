package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/containers/podman/v5/pkg/bindings/containers"

	"matrix-tui/state/roomname"
)

// realImage is the product's image, because the tar of the tests' image is too limited.
func realImage(t *testing.T) string {
	t.Helper()
	image := cmp.Or(os.Getenv("SANDBOX_IMAGE"), "localhost/matrix-tui-sandbox:latest")
	if _, err := needPodman(t).ImageID(t.Context(), image); err != nil {
		skipHost(t, image+" does not exist: build it with deploy/image/build")
	}
	return image
}

// A room's volumes can be exported on one host and imported on another; here, into the volumes of another room.
func TestCopyVolumes(t *testing.T) {
	p, image := needPodman(t), realImage(t)
	from, to := testRoom(t), testRoom(t)
	ctx := t.Context()
	container := ensure(t, Spec{Room: from, Image: image})
	script := `set -e; cd /workspace; echo walnut > 'a word'; ln -s 'a word' link; mkdir dir; chmod 0711 dir; chown 1000:1000 dir
mkfifo pipe; truncate -s 3G sparse; echo home > /root/.profile2; chmod 0600 /root/.profile2`
	sh(t, container, script)
	if there, err := p.HasVolumes(ctx, from); err != nil || !there {
		t.Errorf("has volumes: %v, %v", there, err)
	}
	if there, err := p.HasVolumes(ctx, to); err != nil || there {
		t.Errorf("has volumes already: %v, %v", there, err)
	}
	var archive bytes.Buffer
	if err := p.ExportVolumes(ctx, from, image, &archive); err != nil {
		t.Fatal(err)
	}
	if archive.Len() > 64<<20 {
		t.Errorf("the archive has %d bytes: the sparse file was written out in full", archive.Len())
	}
	data := archive.Bytes()
	if err := p.ImportVolumes(ctx, to, image, bytes.NewReader(data), false); err != nil {
		t.Fatal(err)
	}
	container = ensure(t, Spec{Room: to, Image: image})
	want := "walnut\nhome\n711 1000 directory\n644 0 fifo\n600 0 regular file\n3221225472"
	if got := sh(t, container, `cat link /root/.profile2; stat -c '%a %u %F' dir pipe /root/.profile2; stat -c %s sparse`); got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	// The room's own container does the same.
	var again bytes.Buffer
	if err := PackVolumes(ctx, ensure(t, Spec{Room: from, Image: image}), &again); err != nil || !bytes.Equal(again.Bytes(), data) {
		t.Errorf("packed: %v, %d bytes; exported were %d", err, again.Len(), len(data))
	}
	sh(t, container, "echo mine > mine; rm link")
	if err := UnpackVolumes(ctx, container, &again); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, container, `cat link /root/.profile2; stat -c '%a %u %F' dir pipe /root/.profile2; stat -c %s sparse; ls mine 2>&1 || true`); !strings.HasPrefix(got, want+"\n") || !strings.Contains(got, "No such file") {
		t.Errorf("unpacked: %s, want %s", got, want)
	}
	if err := UnpackVolumes(ctx, container, strings.NewReader("no archive")); err == nil || !strings.Contains(err.Error(), "tar ended with code 2") {
		t.Errorf("no archive: %v", err)
	}

	// Existing contents are left alone, or replaced on request.
	if err := p.ImportVolumes(ctx, to, image, bytes.NewReader(data), false); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("filled volumes: %v", err)
	}
	sh(t, container, "echo mine > mine")
	if err := p.ImportVolumes(ctx, to, image, bytes.NewReader(data), true); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, container, "ls"); strings.Contains(got, "mine") || !strings.Contains(got, "a word") {
		t.Errorf("afterwards there is %s", got)
	}
	// A truncated archive is an error, and no helper container is left.
	broken := errors.New("it broke off")
	if err := p.ImportVolumes(ctx, to, image, io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)), true); !errors.Is(err, broken) {
		t.Errorf("half an archive: %v", err)
	}
	for _, room := range []string{from, to} {
		if _, err := containers.Inspect(p.with(ctx), "copy-"+roomname.Whole(room), nil); !errors.Is(explain(err, "inspect", room), ErrNotFound) {
			t.Errorf("the helper container of %s still exists: %v", room, err)
		}
	}
}

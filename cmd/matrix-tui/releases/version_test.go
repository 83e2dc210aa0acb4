package releases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/deploy/release"
)

// TestVersionSBOM prints what a release is made of, and says what cannot be listed.
func TestVersionSBOM(t *testing.T) {
	if got := clitest.Play(t, t.Context(), versionCommands, nil, "version", "-sbom"); got.Code != 1 || !strings.Contains(got.Stderr, "not in a release") {
		t.Errorf("outside a release: %+v", got)
	}
	base, commit := release.Base(t.TempDir()), "111111111111"
	document := `{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"components":[{"type":"library","name":"x","purl":"pkg:npm/x@1"}]}`
	if err := os.MkdirAll(base.Dir(commit), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base.Dir(commit), "sbom.cdx.json"), []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	for fake, want := range map[string]string{
		"echo debian trixie libc6 2.41 amd64": "pkg:deb/debian/libc6@2.41?arch=amd64",
		"exit 1":                              "pkg:npm/x@1",
	} {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "podman"), []byte("#!/bin/sh\n"+fake+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		var out strings.Builder
		a := &cli.App{Environ: []string{"STATE_DIR=" + t.TempDir()}, Dir: t.TempDir(), Stdout: &out, Stderr: &out}
		err := sbom(t.Context(), a, &Installed{base: base, running: commit})
		if !strings.Contains(out.String(), want) || (err != nil) != (fake == "exit 1") {
			t.Errorf("%s: %v, %s", fake, err, out.String())
		}
	}
}

var versionCommands = []cli.Command{{Name: "version", About: "", Run: Version}}

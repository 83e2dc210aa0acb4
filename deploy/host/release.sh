# shellcheck shell=bash
# Installs the release that this script belongs to. Sourced by deploy/install.

# need_release sets COMMIT and makes $HOME_DIR/current point to that release.
need_release() {
	local from=$ROOT
	if [ -e "$ROOT/release.json" ]; then
		COMMIT=$(commit_of "$ROOT")
		(cd "$ROOT" && sha256sum --quiet --strict -c SHA256SUMS >/dev/null) || die "the release in $ROOT does not match its checksums." "Unpack its archive again."
	elif [ "$DRY" = yes ] && [ -e "$ROOT/.git" ] && ! command -v git >/dev/null; then # git would be installed first
		COMMIT=COMMIT
		changing "building the release of the newest commit in $ROOT" || true
	else
		COMMIT=$(git -c safe.directory='*' -C "$ROOT" rev-parse --short=12 HEAD 2>/dev/null) ||
			die "$ROOT is neither a git checkout nor a release." "Clone the repository, or unpack a release archive, and run its deploy/install."
		COMMIT=${COMMIT:0:12}
		from=$CACHE/release/releases/$COMMIT
		if [ ! -e "$HOME_DIR/releases/$COMMIT/release.json" ] && [ ! -e "$from/release.json" ] && changing "building release $COMMIT"; then
			need_go
			step "building release $COMMIT (a minute or two the first time)" "A Go module proxy must be reachable; 'go env GOPROXY' shows which one is used." \
				make_release
		fi
		know_source
	fi
	ensure "copying release $COMMIT to $HOME_DIR/releases" test -e "$HOME_DIR/releases/$COMMIT/release.json" -- copy_release "$from"
	[ "$(readlink "$HOME_DIR/current" 2>/dev/null)" != "releases/$COMMIT" ] || return 0
	# shellcheck disable=SC2034 # for service.sh
	RESTART=yes
	changing "switching to release $COMMIT" || return 0
	if systemctl -q is-active matrix-tui.service 2>/dev/null; then
		say "stopping the bot (running tasks continue in their containers)"
		systemctl stop matrix-tui.service
	fi
	if [ -e "$HOME_DIR/state/state.json" ]; then
		step "saving a copy of the state in $HOME_DIR/state-before/$COMMIT" "Free some space on the disk of $HOME_DIR." copy_state
	fi
	say "release $COMMIT is now current"
	as_bot "releases/$COMMIT/matrix-tui" release use -into "$HOME_DIR" "$COMMIT"
}

# know_source makes the bot update itself from the clone's origin. Addresses without TLS and addresses that need a login are
# left out.
know_source() {
	local origin here='http://(127\.0\.0\.1|localhost)(:[0-9]+)?'
	[ -z "${A[UPDATE_SOURCE]:-}" ] || return 0
	origin=$(git -c safe.directory='*' -C "$ROOT" remote get-url origin 2>/dev/null || true)
	[[ $origin =~ ^(https://[A-Za-z0-9.:-]+|$here)/[A-Za-z0-9._~/-]+$ ]] || return 0
	say "updates will come from $origin (setting UPDATE_SOURCE)"
	know UPDATE_SOURCE "$origin"
}

# need_update_tools installs what updates need: git, and a Go compiler if they come from a git remote.
need_update_tools() {
	[ -n "${A[UPDATE_SOURCE]:-}" ] || return 0
	packages git openssh-client
	[ -z "${A[UPDATE_KEY]:-}" ] || check_key "${A[UPDATE_KEY]}"
	[[ ${A[UPDATE_SOURCE]} != archive+* ]] || return 0
	if [ ! -x /usr/local/go/bin/go ] && ! bot_has_go "$(wanted_go)" && changing "installing a Go compiler for the bot's updates"; then
		need_go
		[ ! -d "$CACHE/go" ] || step "copying the Go compiler to $HOME_DIR/cache" "Free some space on the disk of $HOME_DIR." copy_go
	fi
}

# check_key FILE checks that the bot can read the key that releases are signed with: the unit hides some folders from it.
check_key() {
	local file=$1
	if [ "$DRY" != yes ] && { [[ $(realpath -m "$file") =~ ^(/root|/tmp|/var/tmp|$ETC)/ ]] || ! as_bot test -r "$file"; }; then
		die "UPDATE_KEY is $file, which the bot cannot read." "The key is public: put it into a file such as /etc/matrix-tui-release.pub, with mode 0644."
	fi
	! grep -q 'BEGIN PGP' "$file" 2>/dev/null || packages gpg
}

# bot_has_go WANT says whether the bot's own compiler is at least that one, without running what belongs to the bot.
bot_has_go() { at_least "$(sed -n '1s/^go//p' "$HOME_DIR/cache/go/VERSION" 2>/dev/null || true)" "$1"; }

copy_go() {
	as_bot rm -rf cache/go
	as_bot mkdir -p cache/go
	tar -C "$CACHE/go" --owner=0 --group=0 -cf - . | as_bot tar -C cache/go --no-same-owner -xf -
}

# commit_of DIR prints the name of the release in a folder: 12 digits of its commit.
commit_of() { sed -n '0,/"commit"/s/^ *"commit": *"\([0-9a-f]\{12\}\).*/\1/p' "$1/release.json"; } # the first match: the history follows it

# copy_release DIR copies a release to its place as the bot's user, the only one who writes there.
copy_release() {
	local new=releases/.$COMMIT.new
	as_bot rm -rf "$new" "releases/$COMMIT"
	as_bot mkdir -p "$new"
	# tar exits with 1 if a file was touched meanwhile; the checksums below tell whether it changed.
	{ tar -C "$1" --owner=0 --group=0 -cf - . || [ $? = 1 ]; } | as_bot tar -C "$new" --no-same-owner -xf -
	as_bot sh -c 'cd "$0" && sha256sum --quiet --strict -c SHA256SUMS' "$new"
	as_bot sync "$HOME_DIR/$new"
	as_bot mv -T "$new" "releases/$COMMIT"
}

# copy_state saves the state before the release first touches it, and keeps the three newest copies.
copy_state() {
	local to=state-before/$COMMIT
	as_bot mkdir -p state-before
	as_bot rm -rf "$to.part" "$to"
	as_bot cp -a --no-target-directory state "$to.part"
	as_bot rm -rf "$to.part/gateway" "$to.part/tmp"
	as_bot mv -T "$to.part" "$to"
	as_bot sh -c 'ls -dt state-before/* | tail -n +4 | while read -r old; do rm -rf "$old"; done'
}

# make_release has the program build the release of the checkout's newest commit. The clone gets a branch for it because
# the checkout may have none.
make_release() {
	local source=$CACHE/source
	rm -rf "$source"
	git -c safe.directory='*' clone --quiet --no-checkout "$ROOT" "$source"
	git -C "$source" branch --force installed "$COMMIT"
	env -C "$ROOT" CGO_ENABLED=0 go build -trimpath -o "$BIN/matrix-tui" ./cmd/matrix-tui
	# With the same cache, so that nothing is compiled twice.
	env GOCACHE="$(go env GOCACHE)" GOPATH="$(go env GOPATH)" "$BIN/matrix-tui" release make -from "$source" -into "$CACHE/release" installed
	rm -rf "$source"
}

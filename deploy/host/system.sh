# shellcheck shell=bash
# The bot's user, and podman for it. Sourced by deploy/install.

SYSCTL_FILE=/etc/sysctl.d/60-matrix-tui.conf

need_user() {
	ensure "creating the user $BOT with home $HOME_DIR" id -u "$BOT" -- \
		useradd --system --user-group --home-dir "$HOME_DIR" --shell /usr/sbin/nologin --comment "matrix-tui" "$BOT"
	# The folders belong to the bot: root writes into them only as the bot's user.
	ensure "creating $HOME_DIR" owned "$HOME_DIR" 700 -- install -d -m 0700 -o "$BOT" -g "$BOT" "$HOME_DIR"
	ensure "creating $HOME_DIR/state" owned "$HOME_DIR/state" 700 -- as_bot install -d -m 0700 "$HOME_DIR/state"
	ensure "creating $HOME_DIR/releases" owned "$HOME_DIR/releases" 755 -- as_bot install -d -m 0755 "$HOME_DIR/releases"
}
owned() { [ -d "$1" ] && [ "$(stat -c %U/%a "$1")" = "$BOT/$2" ]; }

# need_podman_for_bot sets SOCKET, the bot's podman socket, according to A[PODMAN]: rootless (the bot's own, which runs
# without a login), rootful (the system's, with a socket that the bot may use), given (CONTAINER_HOST).
need_podman_for_bot() {
	case ${A[PODMAN]} in
	given)
		packages podman ca-certificates
		SOCKET=${A[CONTAINER_HOST]}
		need_runtime
		;;
	rootful)
		packages podman runc netavark aardvark-dns ca-certificates
		[ "$DRY" = yes ] || need_dropin
		need_runtime
		put_unit matrixtui.slice
		put_unit matrix-tui-podman.socket
		podman_service
		ensure "starting podman's socket for the bot" unit_on matrix-tui-podman.socket -- systemctl -q enable --now matrix-tui-podman.socket
		ensure "enabling the restart of containers after a reboot" systemctl -q is-enabled podman-restart.service -- systemctl -q enable podman-restart.service
		SOCKET=unix:///run/matrix-tui/podman.sock
		;;
	rootless)
		packages podman runc netavark aardvark-dns uidmap slirp4netns ca-certificates dbus dbus-user-session libpam-systemd
		[ "$DRY" = yes ] || need_dropin
		rootless
		;;
	esac
}

# user_slice installs the limits of all containers together for the services of users: the bot's podman is one of them.
USER_SLICE=/etc/systemd/user/matrixtui.slice
user_slice() {
	local before=$CHANGES
	put 0644 "$USER_SLICE" <"$DEPLOY/units/matrixtui.slice"
	[ "$CHANGES" = "$before" ] || [ "$DRY" = yes ] || as_bot systemctl --user daemon-reload
}

# podman_service installs the unit of the system's podman; if it has changed, the next connection starts it again.
podman_service() {
	local before=$CHANGES
	put_unit matrix-tui-podman.service
	reload
	[ "$CHANGES" = "$before" ] || [ "$DRY" = yes ] || systemctl -q try-restart matrix-tui-podman.service
}

rootless() {
	local uid
	uid=$(id -u "$BOT" 2>/dev/null || echo UID) # may not exist yet in a dry run
	SOCKET=unix:///run/user/$uid/podman/podman.sock
	ensure "adding subordinate user IDs for $BOT" has_subids -- give_subids
	# Without this, a user's containers have no limits on processors, and the bot runs nothing in them.
	local before=$CHANGES
	put 0644 "/etc/systemd/system/user@$uid.service.d/matrix-tui.conf" <<<$'# Written by matrix-tui (deploy/install).\n[Service]\nDelegate=cpu cpuset io memory pids'
	reload
	# A user's manager sees at its start what is delegated to it.
	[ "$CHANGES" = "$before" ] || [ "$DRY" = yes ] || systemctl -q try-restart "user@$uid.service"
	need_keyrings
	ensure "enabling lingering for $BOT" test -e "/var/lib/systemd/linger/$BOT" -- loginctl enable-linger "$BOT"
	ensure "starting $BOT's services" systemctl -q is-active "user@$uid.service" -- systemctl start "user@$uid.service"
	# An existing vfs store stays, and an old kernel has no rootless overlay.
	if [ ! -e "$HOME_DIR/.local/share/containers/storage/vfs" ] && at_least "$(uname -r)" 5.13; then
		ensure "setting $BOT's podman storage driver to overlay" test -e "$HOME_DIR/$STORAGE_CONF" -- write_storage_conf
	fi
	user_slice
	need_runtime
	ensure "starting podman's socket for $BOT" bot_units_on podman.socket -- as_bot systemctl --user -q enable --now podman.socket
	ensure "enabling the restart of containers after a reboot" as_bot systemctl --user -q is-enabled podman-restart.service -- \
		as_bot systemctl --user -q enable podman-restart.service
}
# write_storage_conf makes a user's podman use the kernel's overlay file system. Podman 4 detects it only if fuse-overlayfs
# is installed; otherwise each container is a full copy of its image.
STORAGE_CONF=.config/containers/storage.conf
write_storage_conf() {
	# shellcheck disable=SC2016 # the inner shell's
	printf '# Written by matrix-tui (deploy/install).\n[storage]\ndriver = "overlay"\n' |
		as_bot sh -c 'mkdir -p "${0%/*}" && cat >"$0"' "$STORAGE_CONF"
}
# need_keyrings raises the kernel's limit on a user's keyrings: each running container of a rootless user needs one, and the
# default is 200. A host that does not allow that, such as an LXC container, runs fewer containers.
KEYRINGS=20000 KEYBYTES=2000000
need_keyrings() {
	put 0644 "$SYSCTL_FILE" <<<$'# Written by matrix-tui (deploy/install): each container of a rootless user needs a keyring.\n'"kernel.keys.maxkeys = $KEYRINGS"$'\n'"kernel.keys.maxbytes = $KEYBYTES"
	if [ -w /proc/sys/kernel/keys/maxkeys ]; then
		ensure "raising the limit on kernel keyrings" has_keyrings -- raise_keyrings
	elif ! has_keyrings; then
		say "note: this host does not let us raise kernel.keys.maxkeys; the bot will run fewer containers at once"
	fi
}
raise_keyrings() { echo "$KEYRINGS" >/proc/sys/kernel/keys/maxkeys && echo "$KEYBYTES" >/proc/sys/kernel/keys/maxbytes; }
has_keyrings() {
	[ "$(cat /proc/sys/kernel/keys/maxkeys)" -ge "$KEYRINGS" ] && [ "$(cat /proc/sys/kernel/keys/maxbytes)" -ge "$KEYBYTES" ]
}
has_subids() { grep -q "^$BOT:" /etc/subuid && grep -q "^$BOT:" /etc/subgid; }
# give_subids takes the 65536 IDs after the highest that is in use.
give_subids() {
	local first
	first=$(cat /etc/subuid /etc/subgid 2>/dev/null | awk -F: 'BEGIN { n = 524288 } $2 + $3 > n { n = $2 + $3 } END { print n }')
	usermod --add-subuids "$first-$((first + 65535))" --add-subgids "$first-$((first + 65535))" "$BOT"
}
bot_units_on() { as_bot systemctl --user -q is-enabled "$1" && as_bot systemctl --user -q is-active "$1"; }
unit_on() { systemctl -q is-enabled "$1" && systemctl -q is-active "$1"; }

# need_sandbox_image builds the sandbox image, or loads it from IMAGE_ARCHIVE.
need_sandbox_image() {
	export MATRIX_TUI_PODMAN=$SOCKET
	if [ -n "${A[IMAGE_ARCHIVE]:-}" ]; then
		ensure "loading the sandbox image" podman image exists "$IMAGE" -- podman load -i "${A[IMAGE_ARCHIVE]}"
	elif [ "$DRY" = yes ]; then
		podman image exists "$IMAGE" 2>/dev/null || changing "building the image $IMAGE" || true
	else
		[ -n "${A[SANDBOX_IMAGE]:-}" ] || packages debootstrap
		local before
		before=$(podman image inspect -f '{{.Id}}' "$IMAGE" 2>/dev/null || true)
		if [ -n "${A[SANDBOX_IMAGE]:-}" ]; then
			[ -n "$before" ] || die "SANDBOX_IMAGE is $IMAGE, which podman at $SOCKET does not have." "Load or build it there, or unset SANDBOX_IMAGE."
		else
			"$DEPLOY/image/build"
		fi
		[ "$before" = "$(podman image inspect -f '{{.Id}}' "$IMAGE")" ] || CHANGES=$((CHANGES + 1))
	fi
}

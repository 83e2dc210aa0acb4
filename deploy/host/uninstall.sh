# shellcheck shell=bash
# What --uninstall removes, and what it keeps and lists. Sourced by deploy/install.

# remove_container NAME removes a container. Podman's own clean-up of a stopping container holds its mounts for a moment, so
# the first removal may fail; the container is stopped by then, and the second one succeeds.
remove_container() { podman rm --force --time 5 "$1" || podman rm --force --time 5 "$1"; }

uninstall() {
	local uid data=()
	uid=$(id -u "$BOT" 2>/dev/null || true)
	stop_unit matrix-tui-upkeep.timer
	stop_unit matrix-tui-upkeep.service
	stop_unit matrix-tui.service
	if [ -n "$uid" ] && [ -S "${SOCKET#unix://}" ]; then
		remove_containers "$SOCKET"
	elif [ "$PURGE" = yes ] && [ -d /var/lib/containers/storage/volumes ]; then
		remove_containers "" # uninstalled before: the system's podman may still have them
	fi
	stop_unit matrix-tui-podman.socket
	stop_unit matrix-tui-podman.service
	stop_unit matrix-tui-homeserver.service
	if [ -n "$uid" ] && [ "${A[PODMAN]}" = rootless ]; then
		ensure "stopping $BOT's services" not test -e "/var/lib/systemd/linger/$BOT" -- end_user_services "$uid"
	fi
	drop "$UNITS"/matrix-tui*.service "$UNITS"/matrix-tui*.timer "$UNITS"/matrix-tui*.socket "$UNITS/matrix-tui.service.d" \
		/etc/containers/containers.conf.d/matrix-tui.conf "$UNITS/matrixtui.slice" "$USER_SLICE" "$SYSCTL_FILE" /usr/local/bin/matrix-tui "${RUNTIME_FILE%/*}" "$HS_BIN" /var/cache/matrix-tui \
		/var/lib/systemd/timers/stamp-matrix-tui-upkeep.timer
	[ -z "$uid" ] || drop "$UNITS/user@$uid.service.d/matrix-tui.conf"
	[ -z "$uid" ] || [ "$DRY" = yes ] || rmdir "$UNITS/user@$uid.service.d" 2>/dev/null || true
	drop "$HOME_DIR"/{current,good,releases,cache,trial,update.json,update.log,watch.lock,state-failed,.cache}
	! grep -qs "Written by matrix-tui" "$HOME_DIR/$STORAGE_CONF" || drop "$HOME_DIR/$STORAGE_CONF"
	drop "$HOME_DIR/$USER_UNIT"
	[ "$DRY" = yes ] || [ ! -d "$HOME_DIR/.config" ] || find "$HOME_DIR/.config" -depth -type d -empty -delete
	reload
	[ "$DRY" = yes ] || systemctl reset-failed 'matrix-tui*' 2>/dev/null || true

	if [ "$PURGE" = yes ]; then
		[ ! -d "$HOME_DIR" ] || drop "$HOME_DIR"
		drop "$HS_DATA"
		remove_user "$BOT"
		remove_user "$HS_USER"
	fi
	for dir in "$HOME_DIR"/{state,state-before,.local/share/containers/storage/volumes} "$HS_DATA"; do
		[ ! -d "$dir" ] || data+=("$dir")
	done
	local kept=${A[PACKAGES]:-}
	drop "$ETC"
	if [ "$CHANGES" = 0 ]; then say "matrix-tui is not installed here"; else say "matrix-tui is uninstalled"; fi
	[ ${#data[@]} = 0 ] || say "kept, because it is data: ${data[*]} (owned by the user $BOT${A[HOMESERVER]:+ and $HS_USER}; deploy/install will use it again, --uninstall --purge deletes it)"
	[ "$PURGE" = yes ] || [ ${#VOLUMES[@]} = 0 ] || say "kept, because it is data: podman volumes (delete them with podman volume rm): ${VOLUMES[*]}"
	[ -z "$kept" ] || say "kept: packages installed for it: $kept"
}

not() { ! "$@"; }
stop_unit() {
	[ -e "$UNITS/$1" ] || return 0
	ensure "stopping $1" not unit_seen "$1" -- systemctl -q disable --now "$1"
}
unit_seen() { systemctl -q is-enabled "$1" || systemctl -q is-active "$1"; }

# containers_in FILE lists the containers in a state.json, and nothing that somebody has only said.
containers_in() {
	sed -n '/^  "containers": {$/,/^  }/p' "$1" 2>/dev/null | grep -oE '"sandbox-[A-Za-z0-9-]+",?$' | cut -d'"' -f2 | sort -u
}

# remove_containers SOCKET removes the containers in the bot's state, and the image; the rooms' volumes only with --purge.
# Without a socket it uses root's podman.
VOLUMES=()
remove_containers() {
	local name volume
	export MATRIX_TUI_PODMAN=$1
	for name in $(containers_in "$HOME_DIR/state/state.json"); do
		ensure "removing the container $name" not podman container exists "$name" -- remove_container "$name"
		for volume in $(podman volume ls --quiet 2>/dev/null | grep -E "^(workspace|home)-${name#sandbox-}[0-9a-f]*\$"); do
			if [ "$PURGE" = yes ]; then ensure "removing the volume $volume" false -- podman volume rm "$volume"; else VOLUMES+=("$volume"); fi
		done
	done
	# Images in root's podman may belong to another bot.
	if [ -n "$1" ] && [ "${A[PODMAN]}" != given ] && podman image exists "$IMAGE" 2>/dev/null; then
		ensure "removing the images" false -- remove_images
	fi
}
remove_images() {
	podman images --filter label=io.matrix-tui.recipe --format '{{.Id}}' | sort -u | while read -r id; do podman rmi --force "$id" || true; done
	podman rmi "$IMAGE" localhost/matrix-tui-base:latest || true
}

end_user_services() {
	as_bot systemctl --user -q disable --now podman-restart.service podman.socket || true
	loginctl disable-linger "$BOT"
	systemctl stop "user@$1.service"
}
remove_user() {
	ensure "removing the user $1" not id -u "$1" -- userdel "$1"
}

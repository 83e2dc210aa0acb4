# shellcheck shell=bash
# Settings, secrets and units. Sourced by deploy/install.

UNITS=/etc/systemd/system

# put_unit NAME installs a unit from deploy/units with its placeholders filled in.
put_unit() {
	sed -e "s|@HOME@|$HOME_DIR|g" -e "s|@USER@|$BOT|g" -e "s|@UID@|$(id -u "$BOT" 2>/dev/null || echo UID)|g" -e "s|@ETC@|$ETC|g" \
		-e "s|@SOCKET@|${SOCKET:-}|g" -e "s|@IMAGE@|$IMAGE|g" -e "s|@LISTEN@|${A[HOMESERVER_LISTEN]:-}|g" -e "s|@PODMAN_UNIT@|$(podman_unit)|g" \
		-e "s|@RUNTIME@|$(runtime_option)|g" \
		"$DEPLOY/units/$1" | put 0644 "$UNITS/$1"
}
# podman_unit prints the unit that must be up for the bot to reach podman.
podman_unit() {
	case ${A[PODMAN]} in
	rootless) echo "user@$(id -u "$BOT" 2>/dev/null || echo UID).service" ;;
	rootful) echo matrix-tui-podman.socket ;;
	*) echo network-online.target ;;
	esac
}
reload() { [ "$DRY" = yes ] || systemctl daemon-reload; }

# write_settings writes what the units read: the settings, which contain no secrets, and each secret in a file that only
# root can read; systemd passes those to the bot as credentials.
write_settings() {
	local name credentials=$'# Written by matrix-tui (deploy/install).\n[Service]\n'
	A[STATE_DIR]=$HOME_DIR/state
	A[CONTAINER_HOST]=$SOCKET
	[ "$DRY" = yes ] || install -d -m 0700 "$ETC" "$ETC/credentials"
	for name in "${SECRETS[@]}"; do
		[ -n "${A[$name]:-}" ] || continue
		put 0600 "$ETC/credentials/$name" <<<"${A[$name]}"
		credentials+="LoadCredential=$name:$ETC/credentials/$name"$'\n'
	done
	put 0644 "$UNITS/matrix-tui.service.d/credentials.conf" <<<"$credentials"
	some_answers settings | put 0600 "$ETC/settings"
	some_answers install | put 0600 "$ETC/install"
}

# some_answers WHICH prints the bot's settings or the installer's own answers as NAME="value".
some_answers() {
	local name
	echo "# Written by deploy/install, which keeps your changes. After a change: systemctl restart matrix-tui"
	for name in $(printf '%s\n' "${!A[@]}" | sort); do
		! one_of "$name" "${SECRETS[@]}" || continue
		if one_of "$name" "${OWN[@]}"; then [ "$1" = install ] || continue; else [ "$1" = settings ] || continue; fi
		printf '%s="%s"\n' "$name" "${A[$name]}"
	done
}

need_service() {
	put 0755 /usr/local/bin/matrix-tui < <(sed -e "s|@HOME@|$HOME_DIR|g" -e "s|@USER@|$BOT|g" -e "s|@ETC@|$ETC|g" "$DEPLOY/units/matrix-tui.sh")
	put_unit matrix-tui.service
	put_unit matrix-tui-upkeep.service
	put_unit matrix-tui-upkeep.timer
	reload
	[ "$DRY" = yes ] || need_login
	[ "$DRY" = yes ] || check_settings
	ensure "enabling the bot at boot" systemctl -q is-enabled matrix-tui.service -- systemctl -q enable matrix-tui.service
	ensure "enabling the weekly image rebuild" unit_on matrix-tui-upkeep.timer -- systemctl -q enable --now matrix-tui-upkeep.timer
	if [ "$RESTART" = yes ] || ! systemctl -q is-active matrix-tui.service; then
		changing "starting the bot" || return 0
		step "starting the bot" "Its log: journalctl -u matrix-tui" start_bot
	fi
}

# need_login shows a link and a code if the bot has no password, or the homeserver takes none.
need_login() {
	[ ! -e "$HOME_DIR/state/account.json" ] || return 0
	/usr/local/bin/matrix-tui login -if-needed || die "the bot cannot log in." "Run this again, or set MATRIX_PASSWORD."
}

# check_settings has the bot check its configuration before it is started with it.
check_settings() {
	local said rc=0
	said=$(/usr/local/bin/matrix-tui doctor --offline 2>&1) || rc=$?
	[ "$rc" = 0 ] || die "the bot cannot start with this configuration:" "$(grep -vE '^(ok|skip) ' <<<"$said" || true)" "Fix this in the answers file or in $ETC/settings, then run this again."
}

# start_bot waits until the bot says that it is ready.
start_bot() {
	systemctl restart --no-block matrix-tui.service
	for _ in {1..240}; do
		sleep 0.5
		[ "$(systemctl show -P ActiveState matrix-tui.service)" != active ] || return 0
	done
	journalctl -u matrix-tui.service -n 20 --no-pager -o cat
	return 1
}

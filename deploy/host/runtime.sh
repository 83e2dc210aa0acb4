# shellcheck shell=bash
# The runtime of podman's service for the bot, if SANDBOX_RUNTIME names one. Sourced by deploy/install.

RUNTIME_FILE=/usr/local/lib/matrix-tui/runsc
USER_UNIT=.config/systemd/user/podman.service.d/matrix-tui.conf

# runtime_option prints the option of podman that selects the runtime.
runtime_option() {
	case ${A[SANDBOX_RUNTIME]:-} in
	'') ;;
	runsc) printf -- '--runtime %s ' "$RUNTIME_FILE" ;;
	*) printf -- '--runtime %s ' "${A[SANDBOX_RUNTIME]}" ;;
	esac
}

# need_runtime installs gVisor, if that is the runtime, and has the bot's own podman use it. The unit of the system's podman
# has its option from put_unit.
need_runtime() {
	case ${A[SANDBOX_RUNTIME]:-} in
	runsc)
		need_gvisor
		put 0755 "$RUNTIME_FILE" <"$DEPLOY/host/runsc"
		[ "${A[PODMAN]}" != given ] || say "note: start the podman service behind ${A[CONTAINER_HOST]} with: podman --runtime $RUNTIME_FILE system service"
		;;
	*) drop "$RUNTIME_FILE" ;;
	esac
	[ "${A[PODMAN]}" = rootless ] || return 0
	if [ -n "${A[SANDBOX_RUNTIME]:-}" ]; then
		ensure "having $BOT's podman use ${A[SANDBOX_RUNTIME]}" user_unit_is -- write_user_unit
	elif [ -e "$HOME_DIR/$USER_UNIT" ]; then
		ensure "having $BOT's podman use its own runtime" not test -e "$HOME_DIR/$USER_UNIT" -- drop_user_unit
	fi
}
user_unit() { printf '# Written by matrix-tui (deploy/install).\n[Service]\nExecStart=\nExecStart=/usr/bin/podman %ssystem service\n' "$(runtime_option)"; }
user_unit_is() { cmp -s "$HOME_DIR/$USER_UNIT" <(user_unit); }
write_user_unit() {
	# shellcheck disable=SC2016 # the inner shell's
	user_unit | as_bot sh -c 'mkdir -p "${0%/*}" && cat >"$0"' "$USER_UNIT"
	reload_user
}
drop_user_unit() {
	as_bot rm -f "$USER_UNIT"
	reload_user
}
reload_user() { as_bot systemctl --user daemon-reload && as_bot systemctl --user try-restart podman.service; }

# need_gvisor installs Debian's or Ubuntu's package, unless the host has a runsc.
need_gvisor() {
	local version=""
	if ! has_gvisor && changing "installing runsc (gVisor)"; then
		as_root apt-get -qq update
		version=$(apt-cache madison runsc | awk '{ print $3 }' | sort -V | tail -n 1)
		if [ -n "$version" ] && dpkg --compare-versions "$version" ge "$OLDEST_GVISOR"; then
			step "installing runsc $version (gVisor)" "Check the network and the apt sources of this host, then run this again." install_packages "runsc=$version"
			A[PACKAGES]="${A[PACKAGES]:+${A[PACKAGES]} }runsc"
		fi
		has_gvisor || die "this host has no gVisor that is new enough, and its apt sources have none." \
			"With --rootful, it must be newer than Debian 13's. Debian 13 has the package runsc. For Debian 12, add bookworm-backports to the apt sources: https://backports.debian.org/Instructions/" \
			"Or put runsc into /usr/local/bin: https://gvisor.dev/docs/user_guide/install. Then run this again."
	fi
}
# What Debian 12 itself has does not know the platform systrap.
OLDEST_GVISOR=0.0~20230701
has_gvisor() {
	local file
	for file in /usr/local/bin/runsc /usr/bin/runsc; do
		[ ! -x "$file" ] || { is_gvisor "$file"; return; }
	done
	return 1
}
# is_gvisor FILE reports whether that runsc is new enough. It reads all that runsc prints: grep -q ends too early for that,
# and with pipefail the broken pipe would count as a no.
is_gvisor() {
	[[ $("$1" flags 2>&1) == *systrap* ]] || return 1
	# Debian 13's cannot mount what a room's user IDs may not reach, such as the bot's state.
	[[ ${A[PODMAN]} != rootful || $("$1" --version) != *'version 0.0~2024'* ]]
}

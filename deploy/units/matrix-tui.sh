#!/bin/bash
# matrix-tui SUBCOMMAND with the settings, the secrets and the user of matrix-tui.service. Written by deploy/install.
[ "$(id -u)" = 0 ] || { echo "matrix-tui: this needs root: sudo matrix-tui $*" >&2; exit 1; }
options=(--quiet --collect --wait --pipe --service-type=exec "-pUser=@USER@" "-pGroup=@USER@" -pUMask=0077
	"-pWorkingDirectory=@HOME@/state" "-pEnvironmentFile=@ETC@/settings" -pNoNewPrivileges=yes)
for file in @ETC@/credentials/*; do
	[ ! -e "$file" ] || options+=("-pLoadCredential=${file##*/}:$file")
done
# The service itself may not read the journal; this command may.
[ "${1:-}" != logs ] || options+=(-pSupplementaryGroups=systemd-journal)
exec systemd-run "${options[@]}" @HOME@/current/matrix-tui "$@"

# shellcheck shell=bash
# A homeserver on this host, for people who have none (--with-homeserver NAME). Sourced by deploy/install.

HS_USER=matrix-tui-homeserver
HS_DATA=/var/lib/matrix-tui-homeserver
HS_BIN=/usr/local/lib/matrix-tui-homeserver

# need_homeserver builds it, runs it as its own unit, and creates the accounts of the bot and the owner. It listens on
# loopback: to make it reachable, the operator puts a TLS proxy in front of it.
need_homeserver() {
	# shellcheck source=deploy/homeserver/config.sh
	. "$DEPLOY/homeserver/config.sh"
	if [ ! -x "$HS_BIN/dendrite" ] && changing "building the homeserver"; then
		"$DEPLOY/homeserver/build"
		install -d -m 0755 "$HS_BIN"
		install -m 0755 "$BIN/dendrite" "$BIN/generate-keys" "$BIN/create-account" "$HS_BIN/"
	fi
	ensure "creating the user $HS_USER" id -u "$HS_USER" -- \
		useradd --system --user-group --home-dir "$HS_DATA" --shell /usr/sbin/nologin --comment "homeserver of matrix-tui" "$HS_USER"
	ensure "creating $HS_DATA" test -d "$HS_DATA" -- install -d -m 0700 -o "$HS_USER" -g "$HS_USER" "$HS_DATA"
	ensure "generating the homeserver's keys" test -s "$HS_DATA/key.pem" -- make_keys
	ensure "writing $HS_DATA/dendrite.yaml" test -s "$HS_DATA/dendrite.yaml" -- make_config
	[ "$DRY" = yes ] || grep -qx "  server_name: ${A[HOMESERVER]}" "$HS_DATA/dendrite.yaml" ||
		die "the homeserver in $HS_DATA has a different name, and a server's name cannot be changed." "Its name is in $HS_DATA/dendrite.yaml."
	put_unit matrix-tui-homeserver.service
	reload
	ensure "starting the homeserver" unit_on matrix-tui-homeserver.service -- systemctl -q enable --now matrix-tui-homeserver.service
	[ "$DRY" = yes ] || wait_until "the homeserver" 60 http_answers "${A[HOMESERVER_LISTEN]##*:}" /_matrix/client/versions
	local bot=${A[MATRIX_USER]#@}
	bot=${bot%%:*}
	if [ -z "${A[MATRIX_PASSWORD]:-}" ]; then
		A[MATRIX_PASSWORD]=$(random)
		# Written before the account is created, so that an interrupted run can continue.
		[ "$DRY" = yes ] || { install -d -m 0700 "$ETC" "$ETC/credentials"; put 0600 "$ETC/credentials/MATRIX_PASSWORD" <<<"${A[MATRIX_PASSWORD]}"; }
	fi
	ensure "creating the bot's account" test -e "$ETC/account-$bot" -- make_account "$bot" "$ETC/credentials/MATRIX_PASSWORD"
	[ "$DRY" = yes ] || [ -e "$ETC/owner-password" ] || random | put 0600 "$ETC/owner-password"
	ensure "creating the account of ${A[HOMESERVER_OWNER]}" test -e "$ETC/account-${A[HOMESERVER_OWNER]}" -- make_account "${A[HOMESERVER_OWNER]}" "$ETC/owner-password"
}

as_homeserver() { runuser -u "$HS_USER" -- env -i -C "$HS_DATA" PATH=/usr/bin:/bin "$@"; }
random() { head -c 18 /dev/urandom | base64 | tr -d '\n/+='; echo; }
make_keys() { as_homeserver sh -c "umask 077; '$HS_BIN/generate-keys' --private-key key.tmp && mv key.tmp key.pem"; }
make_config() {
	random | as_homeserver sh -c 'umask 077; cat >secret'
	as_homeserver cat secret >/dev/null
	homeserver_config "$HS_DATA" "${A[HOMESERVER]}" no | as_homeserver sh -c 'umask 077; cat >dendrite.tmp && mv dendrite.tmp dendrite.yaml'
}
# make_account NAME FILE creates an account with the password in the file; an existing account is left alone.
make_account() {
	local said
	said=$("$HS_BIN/create-account" --config "$HS_DATA/dendrite.yaml" --url "http://127.0.0.1:${A[HOMESERVER_LISTEN]##*:}" \
		--username "$1" --passwordfile "$2" 2>&1) || grep -qi 'taken\|exists\|in use' <<<"$said" || { echo "$said"; return 1; }
	: >"$ETC/account-$1"
}

# wait_until WHAT SECONDS COMMAND… waits until the command succeeds.
wait_until() {
	local what=$1 end=$((SECONDS + $2))
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || die "$what did not start; see journalctl."
		sleep 0.2
	done
}

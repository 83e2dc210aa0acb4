# shellcheck shell=bash
# The installer's answers, in A[NAME]: from the answers file, the environment, the last install, or the terminal, in this
# order. Sourced by deploy/install.

declare -A A
# The installer's own answers, kept in $ETC/install. Anything that is neither here nor in SECRETS is a setting of the bot.
# shellcheck disable=SC2034 # for the other parts
OWN=(MATRIX_TUI_HOME PODMAN HOMESERVER HOMESERVER_OWNER HOMESERVER_LISTEN IMAGE_ARCHIVE PACKAGES)
SECRETS=(MATRIX_PASSWORD MATRIX_ACCESS_TOKEN GEMINI_API_KEY API_TOKEN)
ASKED=(MATRIX_USER MATRIX_HOMESERVER MATRIX_OWNERS MATRIX_ALLOW GEMINI_MODEL GEMINI_BASE_URL GOPROXY GOSUMDB) # also taken from the environment

# one_of NAME LIST… succeeds when the name is in the list.
one_of() {
	local name=$1 other
	shift
	for other; do [ "$name" != "$other" ] || return 0; done
	return 1
}

# know NAME VALUE stores an answer unless it is already known. NAME_FILE means the contents of that file.
know() {
	local name=$1 value=$2
	[ -n "$value" ] || return 0
	if [[ $name == *_FILE ]] && one_of "${name%_FILE}" "${SECRETS[@]}"; then
		name=${name%_FILE}
		value=$(cat "$value") || die "$1 names a file that cannot be read." "Fix the path in the answers."
	fi
	case $value in
	*[\"\\]* | *[[:cntrl:]]*)
		if [[ $value == *[[:cntrl:]]* ]] || ! one_of "$name" "${SECRETS[@]}"; then
			die "the value of $name contains a quote, a backslash or a control character, which is not allowed."
		fi
		;;
	esac
	[ -n "${A[$name]:-}" ] || A[$name]=$value
}

# read_answers FILE reads lines NAME=value; empty lines, comments and quotes work as in a .env file.
read_answers() {
	local file=$1 line number=0 name value
	[ -r "$file" ] || die "the answers file $file cannot be read."
	while IFS= read -r line || [ -n "$line" ]; do
		number=$((number + 1))
		line=${line%$'\r'}
		[[ $line =~ ^[[:space:]]*(#|$) ]] && continue
		[[ $line =~ ^[[:space:]]*(export[[:space:]]+)?([A-Z][A-Z0-9_]*)[[:space:]]*=[[:space:]]*(.*[^[:space:]])?[[:space:]]*$ ]] ||
			die "$file:$number: not an answer; write NAME=value, or start a comment with #."
		name=${BASH_REMATCH[2]} value=${BASH_REMATCH[3]}
		case $value in
		\'*\' | \"*\") value=${value:1:-1} ;;
		esac
		know "$name" "$value"
	done <"$file"
}

# read_environment reads from the environment what would otherwise be asked.
read_environment() {
	local name
	for name in "${ASKED[@]}" "${SECRETS[@]}"; do
		know "$name" "${!name:-}"
		name=${name}_FILE
		know "$name" "${!name:-}"
	done
}

# read_installed reads the answers of the last install.
read_installed() {
	local name
	[ ! -r "$ETC/install" ] || read_answers "$ETC/install"
	[ ! -r "$ETC/settings" ] || read_answers "$ETC/settings"
	for name in "${SECRETS[@]}"; do
		[ ! -r "$ETC/credentials/$name" ] || know "$name" "$(cat "$ETC/credentials/$name")"
	done
}

# ask NAME TEXT [optional] asks for a missing answer if there is a terminal. Secrets are not echoed.
ask() {
	local name=$1 text=$2 value="" quiet=()
	[ -z "${A[$name]:-}" ] || return 0
	[ -t 0 ] || { MISSING+=("$name ($text)"); return 0; }
	! one_of "$name" "${SECRETS[@]}" || quiet=(-s)
	IFS= read -r "${quiet[@]}" -p "$text: " value
	[ ${#quiet[@]} = 0 ] || echo
	know "$name" "$value"
	[ -n "${A[$name]:-}" ] || [ "${3:-}" = optional ] || MISSING+=("$name ($text)")
}

# need_answers asks for everything that is missing, and fails if an answer is still missing.
need_answers() {
	MISSING=()
	ask GEMINI_API_KEY "Gemini API key"
	if [ -n "${A[HOMESERVER]:-}" ]; then
		[[ ${A[HOMESERVER]} =~ ^[a-z0-9][a-z0-9.-]*$ ]] || die "\"${A[HOMESERVER]}\" is not a server name; use one like example.org."
		ask HOMESERVER_OWNER "your user name on the new homeserver, such as alice"
		[ -z "${A[HOMESERVER_OWNER]:-}" ] || [[ ${A[HOMESERVER_OWNER]} =~ ^[a-z0-9._-]+$ ]] || die "\"${A[HOMESERVER_OWNER]}\" is not a user name; use letters, digits and . _ -"
		A[HOMESERVER_LISTEN]=${A[HOMESERVER_LISTEN]:-127.0.0.1:8008}
		know MATRIX_USER "@bot:${A[HOMESERVER]}"
		know MATRIX_OWNERS "@${A[HOMESERVER_OWNER]:-}:${A[HOMESERVER]}"
		know MATRIX_HOMESERVER "http://127.0.0.1:${A[HOMESERVER_LISTEN]##*:}"
	else
		ask MATRIX_USER "the bot's user ID, such as @bot:example.org"
		[ -n "${A[MATRIX_ACCESS_TOKEN]:-}" ] || [ -e "$HOME_DIR/state/account.json" ] || ask MATRIX_PASSWORD "the password of the bot's account (Enter if it has none, to get a link)" optional
		ask MATRIX_OWNERS "the bot's owners, a comma-separated list of user IDs"
	fi
	[ ${#MISSING[@]} = 0 ] || die "these answers are missing, and there is no terminal to ask at:" "${MISSING[@]/#/  }" \
		"Put them into a file (mode 0600) as lines NAME=value and pass it with --answers FILE."
	[ -z "${A[STATE_DIR]:-}" ] || [ "${A[STATE_DIR]}" = "$HOME_DIR/state" ] || die "STATE_DIR is always $HOME_DIR/state here." "Set its parent folder with MATRIX_TUI_HOME instead."
}

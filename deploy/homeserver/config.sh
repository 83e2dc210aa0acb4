# shellcheck shell=bash
# The settings of the homeserver, for start (tests and trials) and for the unit that deploy/install creates. Sourced.

# homeserver_config DIR NAME OPEN prints dendrite.yaml for data in DIR. OPEN is yes for open registration without rate
# limits; otherwise the secret in DIR/secret is needed to create accounts. It never federates.
homeserver_config() {
	local dir=$1 name=$2 open=$3 synchronous=NORMAL closed=false cost=4 secret="" exempt=""
	case $dir in *[!A-Za-z0-9/._+-]*) echo "the path $dir may hold letters, digits and / . _ + - only" >&2; return 2 ;; esac
	if [ "$open" != yes ]; then
		synchronous=FULL closed=true cost=10 secret=$'\n'"  registration_shared_secret: $(cat "$dir/secret")" exempt=", exempt_user_ids: [\"@bot:$name\"]"
	fi
	# Dendrite drops the query of a file URI but decodes its path, hence the %3F.
	db() { printf '{connection_string: "file://%s/%s.db%%3F_pragma=journal_mode(WAL)&_pragma=synchronous(%s)"}' "$dir" "$1" "$synchronous"; }
	cat <<YAML
version: 2
global:
  server_name: $name
  private_key: $dir/key.pem
  disable_federation: true
  presence: {enable_inbound: false, enable_outbound: false}
  report_stats: {enabled: false}
  cache: {max_size_estimated: 64mb, max_age: 1h}
  jetstream: {storage_path: $dir/jetstream}
client_api:
  registration_disabled: $closed
  guests_disabled: true
  rate_limiting: {enabled: $closed$exempt}$secret
federation_api: {database: $(db federation), key_perspectives: []}
key_server: {database: $(db keys)}
media_api: {database: $(db media), base_path: $dir/media, max_file_size_bytes: 104857600, dynamic_thumbnails: true, max_thumbnail_generators: 2}
mscs: {mscs: [], database: $(db mscs)}
relay_api: {database: $(db relay)}
room_server: {database: $(db rooms)}
sync_api: {database: $(db sync), search: {enabled: false}}
user_api: {bcrypt_cost: $cost, account_database: $(db users)}
logging:
  - {type: file, level: warn, params: {path: $dir/logs}}
YAML
}

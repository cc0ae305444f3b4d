#!/bin/sh
# with_servers.sh "SERVER..." COMMAND...: runs COMMAND with servers on loopback and stops them after it. SERVER is http, tls,
# expired, redis or s3; COMMAND finds FLEET_HTTP, FLEET_TLS, FLEET_EXPIRED (with KILN_REMOTE_CA), FLEET_REDIS and FLEET_S3
# (with AWS_* and KILN_S3_ENDPOINT) in its environment. Status 77: a server can't be had.
servers_scripts=$(dirname "$0")
fleet_folder=${FLEET_FOLDER:-$(cd "$(dirname "$0")/../.." && pwd)/build/fleet}
servers_folder=$(mktemp -d "${TMPDIR:-/tmp}/kiln-servers-XXXXXX") || exit 1
. "$servers_scripts/servers.sh"
trap 'status=$?; stop_servers; rm -rf "$servers_folder"; exit $status' EXIT
trap 'exit 130' INT TERM

for server in $1; do
    case $server in
    http) start_http && export FLEET_HTTP="$http_url" ;;
    tls) start_http tls && export FLEET_TLS="$http_url" KILN_REMOTE_CA="$ca_file" ;;
    expired) start_http expired && export FLEET_EXPIRED="$http_url" KILN_REMOTE_CA="$ca_file" ;;
    redis) start_redis && export FLEET_REDIS="$redis_url" ;;
    s3) start_s3 && export FLEET_S3="$s3_url" ;;
    *) echo "with_servers.sh: no server is called $server; use http, tls, expired, redis or s3" >&2 && exit 2 ;;
    esac || exit 77
done
shift
"$@"

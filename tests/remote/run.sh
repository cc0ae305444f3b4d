#!/bin/sh
# run.sh http|s3|redis PROGRAM: runs a test of a driver with its servers on loopback, which end with it. The program finds
# REMOTE_* in its environment. Status 77: a server can't be had.
fleet_folder=${FLEET_FOLDER:-$(cd "$(dirname "$0")/../.." && pwd)/build/fleet}
servers_folder=$(mktemp -d "${TMPDIR:-/tmp}/kiln-remote-XXXXXX") || exit 1
. "$(dirname "$0")/../fleet/servers.sh"
trap 'status=$?; stop_servers; rm -rf "$servers_folder"; exit $status' EXIT
trap 'exit 130' INT TERM
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY NETRC AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL \
    AWS_ENDPOINT_URL_S3 REDISCLI_AUTH KILN_REDIS_PASSWORD_FILE KILN_REMOTE_TTL KILN_REMOTE_CA KILN_S3_ENDPOINT
export HOME="$servers_folder"
secret=swordfish-4711 # as in remote_support.h

# Ways to refuse, on a port of its own.
run_strict_nginx()
{
    mkdir -p "$server_folder/root" "$server_folder/uploads"
    printf 'kiln:{PLAIN}%s\n' "$secret" >"$server_folder/passwords"
    printf 'machine 127.0.0.1 login kiln password %s\n' "$secret" >"$server_folder/netrc"
    cat >"$server_folder/nginx.conf" <<END
daemon off;
$([ "$(id -u)" != 0 ] || echo "user root;")
pid $server_folder/nginx.pid;
error_log stderr;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $server_folder/uploads;
    proxy_temp_path $server_folder/uploads;
    fastcgi_temp_path $server_folder/uploads;
    uwsgi_temp_path $server_folder/uploads;
    scgi_temp_path $server_folder/uploads;
    server {
        listen 127.0.0.1:$port;
        root $server_folder/root;
        dav_methods PUT;
        create_full_put_path on;
        location /guarded/ { auth_basic kiln; auth_basic_user_file $server_folder/passwords; }
        location /read_only/ { dav_methods off; }
        location /no_folders/ { create_full_put_path off; }
        location /forbidden/ { deny all; }
    }
}
END
    run_server "$server_folder/log" "$nginx" -p "$server_folder" -e stderr -c "$server_folder/nginx.conf"
}

start_strict_http()
{
    start_server run_strict_nginx || return 1
    strict_url=http://127.0.0.1:$port
    strict_folder=$server_folder
}

run_unix_redis()
{
    printf 'bind 127.0.0.1\nport %s\nunixsocket %s\nsave ""\ndir %s\n' "$port" "$server_folder/socket" "$server_folder" >"$server_folder/redis.conf"
    run_server "$server_folder/log" "$redis" "$server_folder/redis.conf"
}

case $1 in
http)
    start_http || exit 77
    export REMOTE_HTTP="$http_url" REMOTE_HTTP_ROOT="$http_root" REMOTE_HTTP_PID="$http_pid"
    start_http tls || exit 77
    export REMOTE_TLS="$http_url" KILN_REMOTE_CA="$ca_file"
    start_http expired || exit 77
    export REMOTE_EXPIRED="$http_url"
    start_strict_http || exit 77
    export REMOTE_GUARDED="$strict_url/guarded" REMOTE_NETRC="$strict_folder/netrc" REMOTE_READ_ONLY="$strict_url/read_only"
    export REMOTE_NO_FOLDERS="$strict_url/no_folders" REMOTE_FORBIDDEN="$strict_url/forbidden"
    ;;
s3)
    start_s3 || exit 77
    export REMOTE_S3="$s3_url" REMOTE_S3_ROOT="$s3_root"
    ;;
redis)
    start_redis || exit 77
    export REMOTE_REDIS="$redis_url" REMOTE_REDIS_PORT="$redis_port" REMOTE_REDIS_PID="$redis_pid"
    start_redis "$secret" || exit 77
    export REMOTE_GUARDED_PORT="$redis_port"
    start_redis "" 6mb || exit 77
    export REMOTE_FULL="$redis_url"
    start_server run_unix_redis || exit 77
    export REMOTE_UNIX_PATH="$server_folder/socket"
    ;;
*) echo "run.sh: http, s3 or redis" >&2 && exit 2 ;;
esac
"$2"

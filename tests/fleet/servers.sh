# Servers on loopback for tests, the bench and the example; to be sourced, with fleet_folder set to where
# tools/setup_fleet.sh puts programs, servers_scripts to this folder and servers_folder to one for files. Each start_* sets variables, waits until the
# server answers, and returns 1 after a line on stderr when it can't be had. Servers run as the caller, on free ports of
# 127.0.0.1, and end with stop_servers, or when the shell that started them dies.
#
#   start_http [tls|expired]          http_url http_root http_pid; with TLS ca_file too
#   start_redis [PASSWORD [MEMORY]]   redis_url redis_port redis_pid; when MEMORY is used up it refuses writes
#   start_s3                          s3_url s3_endpoint s3_root s3_pid, and AWS_* and KILN_S3_ENDPOINT, exported
#   start_faults http|redis PORT [N]  faults_port faults_pid; N.mode and N.log in servers_folder (N is faults): fault_server.py
#   stop_server PID [SIGNAL]          stop_servers          fleet_program NAME: prints its path
servers_pids=
servers_count=0

# Programs that were unpacked find the libraries that were unpacked with them.
fleet_libraries=$fleet_folder/root/usr/lib/$(uname -m)-linux-gnu:$fleet_folder/root/lib/$(uname -m)-linux-gnu

fleet_program()
{
    for fleet_bin in "$fleet_folder/bin" "$fleet_folder/root/usr/sbin" "$fleet_folder/root/usr/bin"; do
        [ ! -x "$fleet_bin/$1" ] || { echo "$fleet_bin/$1" && return; }
    done
    PATH=$PATH:/usr/sbin:/sbin command -v "$1" || { echo "fleet: no $1 here (tools/setup_fleet.sh gets it)" >&2 && return 1; }
}

# server_answers PORT: a connection is accepted.
server_answers()
{
    bash -c ": </dev/tcp/127.0.0.1/$1" 2>/dev/null
}

# Sets port to one that nobody uses, below those that systems give to connections.
find_port()
{
    while
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        server_answers $port
    do :; done
}

# run_server LOG PROGRAM ARGUMENT...: in the background, in a process group of its own; sets server_pid. It
# goes when this shell does, however that ends.
run_server()
{
    server_log=$1
    shift
    LD_LIBRARY_PATH=$fleet_libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} setsid setpriv --pdeathsig TERM "$@" >"$server_log" 2>&1 </dev/null &
    server_pid=$!
    servers_pids="$servers_pids $server_pid"
}

# wait_for_server PORT: 1 when it died, most likely because its port was taken meanwhile.
wait_for_server()
{
    tries=0
    until server_answers "$1" && ! grep -qi 'address already in use' "$server_log"; do
        tries=$((tries + 1))
        kill -0 "$server_pid" 2>/dev/null && [ $tries -lt 600 ] || { stop_server "$server_pid" && return 1; }
        sleep 0.05
    done
}

# start_server CONFIGURE: four ports are tried. CONFIGURE is a function that runs the server on $port, below $server_folder.
start_server()
{
    for try in 1 2 3 4; do
        servers_count=$((servers_count + 1))
        server_folder=$servers_folder/server-$servers_count
        mkdir -p "$server_folder" || return 1
        find_port
        "$@" && wait_for_server "$port" && return
    done
    echo "fleet: $1 gave up; its log:" >&2
    cat "$server_log" >&2
    return 1
}

# ---- nginx: GET, HEAD and PUT of files ------------------------------------------------------------------------------
start_http()
{
    nginx=$(fleet_program nginx) || return 1
    [ -z "${1-}" ] || make_certificates || return 1
    start_server run_nginx "${1-}" || return 1
    http_pid=$server_pid
    http_root=$server_folder/root
    [ -n "${1-}" ] && http_url=https://127.0.0.1:$port/kiln || http_url=http://127.0.0.1:$port/kiln
}

run_nginx()
{
    mkdir -p "$server_folder/root" "$server_folder/uploads"
    tls=
    [ -z "$1" ] || tls="ssl_certificate $servers_folder/$1.pem; ssl_certificate_key $servers_folder/$1.key;"
    cat >"$server_folder/nginx.conf" <<END
daemon off;
worker_processes 2;
$([ "$(id -u)" != 0 ] || echo "user root;")
pid $server_folder/nginx.pid;
error_log stderr;
events { worker_connections 512; }
http {
    access_log off;
    client_body_temp_path $server_folder/uploads;
    proxy_temp_path $server_folder/uploads;
    fastcgi_temp_path $server_folder/uploads;
    uwsgi_temp_path $server_folder/uploads;
    scgi_temp_path $server_folder/uploads;
    client_max_body_size 256m;
    keepalive_requests 1000000;
    server {
        listen 127.0.0.1:$port ${1:+ssl};
        $tls
        root $server_folder/root;
        dav_methods PUT;
        create_full_put_path on;
    }
}
END
    run_server "$server_folder/log" "$nginx" -p "$server_folder" -e stderr -c "$server_folder/nginx.conf"
}

# An authority of our own (ca_file), and two certificates of it for 127.0.0.1: tls.pem, and expired.pem of yesterday.
make_certificates()
{
    ca_file=$servers_folder/ca.pem
    [ ! -e "$ca_file" ] || return 0
    openssl=$(fleet_program openssl) || return 1
    (
        mkdir -p "$servers_folder" && cd "$servers_folder" || exit 1
        export LD_LIBRARY_PATH="$fleet_libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" OPENSSL_CONF=/dev/null
        new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
        "$openssl" req -x509 $new -keyout ca.key -out ca.pem -days 2 -subj "/CN=Kiln tests" -addext basicConstraints=critical,CA:TRUE
        echo "subjectAltName = IP:127.0.0.1" >names
        for certificate in tls expired; do
            "$openssl" req $new -keyout $certificate.key -out $certificate.csr -subj /CN=127.0.0.1
        done
        sign="$openssl x509 -req -CA ca.pem -CAkey ca.key -extfile names"
        $sign -in tls.csr -out tls.pem -days 2 -set_serial 1
        $sign -in expired.csr -out expired.pem -days -1 -set_serial 2 ||
            $sign -in expired.csr -out expired.pem -not_before 20200101000000Z -not_after 20200102000000Z -set_serial 2
        [ -s tls.pem ] && [ -s expired.pem ]
    ) >"$servers_folder/openssl.log" 2>&1 || { cat "$servers_folder/openssl.log" >&2 && return 1; }
}

# ---- redis-server: nothing is written to disk ---------------------------------------------------------------------------
start_redis()
{
    redis=$(fleet_program redis-server) || return 1
    start_server run_redis "${1-}" "${2-}" || return 1
    redis_pid=$server_pid
    redis_port=$port
    redis_url=redis://${1:+:$1@}127.0.0.1:$port/0
}

run_redis()
{
    cat >"$server_folder/redis.conf" <<END
bind 127.0.0.1
port $port
dir $server_folder
databases 1000
save ""
appendonly no
maxmemory-policy noeviction
${1:+requirepass $1}
${2:+maxmemory $2}
END
    run_server "$server_folder/log" "$redis" "$server_folder/redis.conf"
}

# ---- versitygw: S3 over a folder; a folder in it is a bucket ---------------------------------------------------------
start_s3()
{
    versitygw=$(fleet_program versitygw) || return 1
    export AWS_ACCESS_KEY_ID=kiln-tests AWS_SECRET_ACCESS_KEY=kiln-tests-secret AWS_REGION=us-east-1
    start_server run_versitygw || return 1
    s3_pid=$server_pid
    s3_root=$server_folder/root
    s3_url=s3://kiln/cache
    s3_endpoint=http://127.0.0.1:$port
    export KILN_S3_ENDPOINT="$s3_endpoint"
}

run_versitygw()
{
    mkdir -p "$server_folder/root/kiln"
    run_server "$server_folder/log" env ROOT_ACCESS_KEY=$AWS_ACCESS_KEY_ID ROOT_SECRET_KEY=$AWS_SECRET_ACCESS_KEY \
        "$versitygw" --port "127.0.0.1:$port" --keep-alive --quiet posix "$server_folder/root"
}

# ---- a server before one of the above that answers wrongly when told to ------------------------------------------------
start_faults()
{
    python3=$(fleet_program python3) || return 1
    faults=$servers_folder/${3:-faults}
    echo pass >"$faults.mode"
    rm -f "$faults.port" "$faults.log"
    run_server "$faults.port" "$python3" "$servers_scripts/fault_server.py" "$1" "$2" "$faults.mode" "$faults.log"
    faults_pid=$server_pid
    until [ -s "$faults.port" ]; do
        kill -0 "$faults_pid" 2>/dev/null || { cat "$faults.port" >&2 && return 1; }
        sleep 0.05
    done
    faults_port=$(cat "$faults.port")
}

# ---- the end ---------------------------------------------------------------------------------------------------------
stop_server()
{
    kill -s "${2:-TERM}" -- "-$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

stop_servers()
{
    for server_pid in $servers_pids; do
        stop_server "$server_pid"
    done
    servers_pids=
}

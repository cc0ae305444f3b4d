#!/bin/sh
# `kiln doctor` tries each remote: round trip, can read, can write, whose signatures; on all servers, right and wrong. A warning is no
# failure, for programs go on.
. "$(dirname "$0")/lib.sh"
make_key ci
make_key stranger

# doctor HOST LEVEL TEXT [VARIABLE=VALUE]...: its line on the remote. Exit code 0.
doctor()
{
    host=$1 level=$2 text=$3
    shift 3
    on "$host" env "$@" KILN_CACHE_DIR="$work/doctor" "$bin/kiln" doctor >doctor.out 2>&1 || { cat doctor.out >&2; fail "$host: kiln doctor failed"; }
    grep "^$level  *remote" doctor.out | grep -qF "$text" || { cat doctor.out >&2; fail "$host: no line '$level remote ... $text'"; }
}

# examine SERVER URL
examine()
{
    doctor "$1-nobody" warn "kiln key trust" KILN_REMOTE="$2"
    trusts "$1-reader" ci
    doctor "$1-reader" ok "no doctor has put its entry there yet; nothing is put from here, for KILN_SIGN_KEY is not set" KILN_REMOTE="$2"
    doctor "$1-writer" ok "an entry was read, signed by a trusted key; an entry can be put" KILN_REMOTE="$2" KILN_SIGN_KEY="$work/ci.key"
    doctor "$1-reader" ok "an entry was read, signed by a trusted key; nothing is put from here" KILN_REMOTE="$2"
    doctor "$1-strange" warn "not trusted" KILN_REMOTE="$2" KILN_TRUSTED_KEYS="$work/stranger.key.pub"
}

export KILN_REMOTE_TIMEOUT=5000
tried=
if start_http; then
    examine http "$http_url"
    for file in $(entries "$http_root"); do printf x | dd of="$file" bs=1 seek=40 conv=notrunc 2>/dev/null; done
    doctor flipped warn "what is read there can't be used" KILN_REMOTE="$http_url" KILN_TRUSTED_KEYS="$work/ci.key.pub"
    tried="$tried http"
fi
if start_redis; then
    examine redis "$redis_url"
    says doctor.out "makes hosts wait for each other"
    redis_cli config set maxmemory 1 >/dev/null
    doctor full warn "nothing can be put" KILN_REMOTE="$redis_url" KILN_SIGN_KEY="$work/ci.key"
    tried="$tried redis"
fi
if start_s3; then
    examine s3 "$s3_url"
    tried="$tried s3"
fi
[ -n "$tried" ] || skip "no server"
doctor down warn "does not answer" KILN_REMOTE="http://127.0.0.1:1/kiln" KILN_SIGN_KEY="$work/ci.key"
doctor typo warn "there is no driver for htp://" KILN_REMOTE="htp://127.0.0.1/kiln" KILN_SIGN_KEY="$work/ci.key"
mkdir -p "$work/filed/.config/kiln"
printf 'remote = http://127.0.0.1:1/kiln\nsign_kee = %s\n' "$work/ci.key" >"$work/filed/.config/kiln/config"
doctor filed warn "kiln key trust"
says doctor.out "$work/filed/.config/kiln/config:2"
echo "tried:$tried"

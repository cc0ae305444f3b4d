#!/bin/sh
# Settings from files: who goes before whom, what `kiln config` prints, what is said of files that are wrong. And `kiln doctor`: it
# must not say ok where a program logs or refuses.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
program=$build/tests/trusting # compiles one kernel, prints 42
export HOME="$work/home"
config=$XDG_CONFIG_HOME/kiln/config
mkdir -p "$XDG_CONFIG_HOME/kiln" home
unset KILN_CACHE_DIR KILN_PLUGIN # the plug-in stands beside the library

# configure LINES: the user's file.
configure()
{
    printf '%s\n' "$1" >"$config"
    chmod 600 "$config"
}

# field NAME FIELD: of a setting, in what `kiln config --json` printed.
field()
{
    sed -n "s/.*{\"name\":\"$1\",\(.*\)}.*/\1/p" out | sed -n "s/.*\"$2\":\"\{0,1\}\([^\",]*\).*/\1/p"
}

# ---- values ------------------------------------------------------------------------------------------------------------------

configure "cache_dir = $work/filed
cache_size = 7G # bytes
stats = $work/stats"
exits 0 "$program"
expect "the result" "$(cat out)" 42
expect "what was said" "$(cat err)" ""
expect "compiles" "$(counter stats compiles)" 1
[ -n "$(find filed -name '*.kiln')" ] || fail "cache_dir of the file is not used"
exits 0 env KILN_CACHE_DIR="$work/named" "$program"
[ -n "$(find named -name '*.kiln')" ] || fail "the variable does not go before the file"
exits 0 env KILN_STATS= "$program"
expect "lines of counters: an empty variable is the default" "$(wc -l <stats)" 2
exits 0 env KILN_STATS="$work/other" KILN_CACHE_SIZE=1G "$kiln" config --json
is_json out
expect "a value of the file" "$(field KILN_CACHE_DIR value) $(field KILN_CACHE_DIR origin) $(field KILN_CACHE_DIR line)" "$work/filed file 1"
expect "its file" "$(field KILN_CACHE_DIR file)" "$config"
expect "a value of the environment" "$(field KILN_CACHE_SIZE value) $(field KILN_CACHE_SIZE origin)" "1G environment"
expect "a default" "$(field KILN_OPT_LEVEL value) $(field KILN_OPT_LEVEL origin)" "2 default"
exits 0 "$kiln" config
says out "KILN_CACHE_SIZE      7G                                       $config:2"
says out "KILN_MODE            normal                                   default"
expect "complaints" "$(cat err)" ""
exits 0 "$kiln" ls
says out "answer"

# Options that are read in every call, and the mode.
configure "opt_level = 1
cache_dir = $work/filed
stats = $work/stats"
exits 0 "$program"
expect "compiles for another level" "$(counter stats compiles)" 1
exits 0 env KILN_OPT_LEVEL=2 "$program"
expect "compiles for the level that the folder has" "$(counter stats compiles)" 0
configure "mode = no-compile
cache_dir = $work/nothing"
exits 1 "$program"
says err "nothing stored fits"
exits 0 env KILN_MODE=normal "$program"
configure "log = miss
cache_dir ="
exits 0 "$program"
says err "kiln: "
[ ! -e "$work/home/.cache" ] || fail "an empty cache_dir is not memory only"

# Without XDG_CONFIG_HOME, or where it is relative, the file is in the home folder.
mkdir -p home/.config/kiln
echo "stats = ~/counted" >home/.config/kiln/config
exits 0 env -u XDG_CONFIG_HOME "$program"
exits 0 env XDG_CONFIG_HOME=relative "$program"
expect "lines of counters" "$(wc -l <home/counted)" 2

# Passwords.
configure "remote = redis://me:hunter2@host:6379/0 https://host/?sig=hunter2"
exits 0 "$kiln" config
says out "redis://***@host:6379/0 https://host/?***"
exits 0 "$kiln" config --json
! grep -q hunter2 out err || fail "a password is shown"
configure "s3_endpoint = me:hunter2@host"
exits 1 "$kiln" config
! grep -q hunter2 out err || fail "a password is shown"

# ---- what is wrong in a file -------------------------------------------------------------------------------------------------

# wrong TEXT: programs say so once and work; kiln config and kiln doctor say it too.
wrong()
{
    exits 0 env KILN_CACHE_DIR="$work/filed" "$program"
    expect "the result with $1" "$(cat out)" 42
    expect "how often it is said: $1" "$(grep -cF -- "$1" err)" 1
    exits 1 env KILN_CACHE_DIR="$work/filed" "$kiln" config
    expect "how often kiln config says: $1" "$(grep -cF -- "$1" err)" 1
    exits 0 env KILN_CACHE_DIR="$work/filed" "$kiln" doctor
    grep -F -- "$1" out | grep -q '^warn  setting' || { cat out >&2; fail "kiln doctor does not warn: $1"; }
}

configure "
mod = off"
wrong "$config:2: there is no setting mod; did you mean mode?"
configure "mode: off"
wrong "$config:1: a line is \`name = value\`; not used"
configure "mode = off
mode = normal"
exits 1 "$kiln" config
says err "$config:2: mode is set in line 1 already; this line is not used"
configure "cache_size = abc"
wrong "$config:1: cache_size = abc is not a size such as 500M or 5G; not used"
configure "plugin = libkiln-llvm.so"
wrong "$config:1: plugin = libkiln-llvm.so: a path in a file begins with / or ~/; not used"
configure ""
chmod 666 "$config"
wrong "$config: not used: others can write it; chmod go-w $config"
rm "$config"
mkfifo "$config"
chmod 600 "$config"
wrong "$config is not a regular file"
rm "$config"
mkdir "$config"
wrong "$config is not a regular file"
rmdir "$config"
printf 'opt_level = \033[2J9' >"$config"
wrong "$config:1: a control character; not used"
printf 'opt_level\0 = 9' >"$config"
wrong "$config:1: a line is \`name = value\`; not used"
head -c 2000000 /dev/zero | tr '\0' '#' >"$config"
wrong "$config: not used: it is larger than 1048576 bytes"
if [ "$(id -u)" = 0 ]; then
    configure "mode = off"
    chown 12345 "$config"
    wrong "$config: not used: it is user 12345's; it must be ours or root's"
fi
rm -f "$config"
exits 0 "$kiln" config

# A folder that we may not enter is as good as none: nothing is said.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 12345 --regid 12345 --clear-groups test -r "$build/lib/libkiln.so.0"; then
    mkdir -p closed/kiln
    echo "mode = off" >closed/kiln/config
    chmod 755 "$work"
    chmod 700 closed
    exits 0 env XDG_CONFIG_HOME="$work/closed" KILN_CACHE_DIR= setpriv --reuid 12345 --regid 12345 --clear-groups "$program"
    expect "what was said" "$(cat err)" ""
    chmod 755 closed
    chmod 600 closed/kiln/config
    exits 0 env XDG_CONFIG_HOME="$work/closed" KILN_CACHE_DIR= setpriv --reuid 12345 --regid 12345 --clear-groups "$program"
    says err "closed/kiln/config: not used: can't open"
fi

# The system's file, where a mount of our own can stand in its place.
if [ "$(id -u)" = 0 ] && mkdir -p etc/kiln && unshare -m true 2>/dev/null; then
    echo "cache_size = 9G" >etc/kiln/config
    cp /etc/passwd /etc/group etc 2>/dev/null || true
    cp -r /etc/ld.so.cache etc 2>/dev/null || true
    configure "drift = error"
    exits 0 unshare -m sh -c 'mount --bind "$1" /etc && shift && exec "$@"' sh "$work/etc" "$kiln" config
    says out "9G                                       /etc/kiln/config:1"
    says out "error                                    $config:1"
    rm "$config"
else
    echo "settings: not root, or no mounts: /etc/kiln/config is not tried"
fi

# ---- a program that logs, and a doctor that does not say ok ------------------------------------------------------------------

mkdir -m 777 open
chmod 777 open
touch plain locked
mkdir -m 700 ours
# differs NAME=VALUE LOGGED: with this variable a program says LOGGED, and so does kiln doctor, which does not say ok to it.
differs()
{
    status=0
    rm -rf fresh
    env KILN_CACHE_DIR="$work/fresh" "$1" "$program" >program.out 2>program.err || status=$?
    grep -qF -- "$2" program.err || { cat program.err >&2; fail "a program with $1 does not say: $2"; }
    env KILN_CACHE_DIR="$work/fresh" "$1" "$kiln" doctor >out 2>err || status=$?
    grep -F -- "$2" out | grep -q "^\(warn\|fail\)" || { cat out >&2; fail "kiln doctor with $1 does not say: $2"; }
    ! grep -F "ok    setting      ${1%%=*}=" out || fail "kiln doctor says ok to $1"
    env KILN_CACHE_DIR="$work/fresh" "$1" "$kiln" config >out 2>err && fail "kiln config says ok to $1"
    grep -qF -- "$2" err || { cat err >&2; fail "kiln config with $1 does not say: $2"; }
}

differs KILN_CACHE_SIZE=abc "KILN_CACHE_SIZE=abc is not a size such as 500M or 5G"
differs KILN_CACHE_SIZE=0 "KILN_CACHE_SIZE=0 is not a size such as 500M or 5G"
differs KILN_MODE=fast "KILN_MODE=fast is not one of normal, off, no-compile, compile-only"
differs KILN_OPT_LEVEL=9 "KILN_OPT_LEVEL=9 is not one of 0, 1, 2, 3"
differs KILN_FAST_MATH=yes "KILN_FAST_MATH=yes is not one of 0, 1"
differs KILN_LOG=mis "KILN_LOG=mis is not one of miss, fault, all; not used"
program=$bin/quickstart
differs KILN_DEVICE=tpu 'KILN_DEVICE=tpu: unknown device "tpu"'
program=$build/tests/trusting
differs KILN_TARGET=pdp11 'KILN_TARGET=pdp11: unknown target "pdp11"'
differs KILN_PLUGIN=/nowhere.so "/nowhere.so is not there"
differs KILN_PLUGIN=nowhere/plugin.so "nowhere/plugin.so is not there"
differs KILN_STATS="$work/nowhere/stats" "can't append to $work/nowhere/stats: No such file or directory"
differs KILN_STATS="$work/ours" "can't append to $work/ours: Is a directory"
differs KILN_AUDIT="$work/nowhere/audit" "can't append to $work/nowhere/audit: No such file or directory"
differs KILN_CACHE_DIR="$work/open" "neither group nor others may write it"
differs KILN_CACHE_DIR="$work/plain" "$work/plain"
differs KILN_CACHE_PATH="$work/ours:$work/open" "neither group nor others may write it"
differs KILN_CACHE_PATH="$work/nowhere" "can't use the cache folder $work/nowhere: No such file or directory"
differs KILN_CACHE_PATH="$work/plain" "the cache folder $work/plain is not a folder"
if [ "$(id -u)" = 0 ]; then
    mkdir -m 755 theirs
    chown 12345 theirs
    differs KILN_CACHE_DIR="$work/theirs" "the cache folder $work/theirs has owner 12345"
fi
many=$(seq 70 | sed "s|.*|$work/ours|" | paste -s -d:)
differs KILN_CACHE_PATH="$many" "more than 64 folders and packs; the rest is not used"

# What is used only now and then is checked all the same.
exits 0 env KILN_DRIFT=warn KILN_GPU_TARGET=sm_1 KILN_REMOTE_TIMEOUT=soon KILN_REMOTE_CA=/nowhere KILN_CACHE_UMASK=9 "$kiln" doctor
says out "warn  setting      KILN_DRIFT=warn is not error; not used"
says out "warn  setting      KILN_GPU_TARGET=sm_1: unknown GPU target"
says out "warn  setting      KILN_REMOTE_TIMEOUT=soon is not a number from 1 to 600000; not used"
says out "warn  setting      KILN_REMOTE_CA=/nowhere: there is no such file"
says out "warn  setting      KILN_CACHE_UMASK=9 is not a mask such as 022, 027 or 077: nobody else may write what is stored; not used"

# A misspelt variable can't be seen by a program; doctor sees it.
exits 0 env KILN_CACHE_DIRR=/a "$kiln" doctor
says out "warn  environment  there is no setting KILN_CACHE_DIRR; did you mean KILN_CACHE_DIR?"

# A plug-in that is there and is none.
exits 1 env KILN_PLUGIN="$build/tests/foreign.so" "$program"
exits 1 env KILN_PLUGIN="$build/tests/foreign.so" "$kiln" doctor
says out "fail  compiler"

# Doctor writes nothing.
mkdir empty
exits 0 env HOME="$work/empty" KILN_CACHE_DIR="$work/empty/cache" KILN_STATS="$work/empty/stats" KILN_AUDIT="$work/empty/audit" "$kiln" doctor
expect "what doctor wrote" "$(ls -A empty)" ""

# ---- texts -------------------------------------------------------------------------------------------------------------------

# The help lists what the library has, with the same words.
"$kiln" config --help >help
"$kiln" config --json >out
tr '\n' ' ' <help | tr -s ' ' >words
sed -n 's/.*{"name":"\([^"]*\)",.*"help":"\([^"]*\)".*/\1 \2/p' out >rows
[ "$(wc -l <rows)" -gt 20 ] || fail "kiln config --json lists few settings"
while read -r row; do
    grep -qF -- "$row" words || fail "kiln config --help lacks: $row"
done <rows
while read -r name help; do
    says "$source/docs/settings.md" "| $name | $help |"
done <rows
expect "settings in docs/settings.md" "$(grep -c '^| KILN_' "$source/docs/settings.md")" "$(wc -l <rows)"
expect "settings in the help" "$(grep -c '^  KILN_' help)" "$(wc -l <rows)"

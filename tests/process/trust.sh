#!/bin/sh
# Whom a program believes: variables when its rights are not those of who started it, relative paths after chdir(), owners of files
# in user namespaces, a fifo that nobody reads.
. "$(dirname "$0")/lib.sh"
trusting=$build/tests/trusting
foreign=$build/tests/foreign.so
other=12345 # a user who is not we
chmod 755 "$work"

# quiet: what ran last said nothing of foreign code.
quiet()
{
    ! grep -h "foreign code" out err || fail "$1: a foreign library was loaded"
}

# ---- a plug-in that is named by a relative path, and a process that goes elsewhere -------------------------------------------

mkdir -p home/lib elsewhere/lib elsewhere/cache
cp "$foreign" elsewhere/lib/libkiln-llvm.so
ln -s "$build/lib/libkiln.so.0" "$build/lib/libkiln-llvm.so" home/lib
cp "$trusting" home
cd home
# The copy is linked with an absolute path, which LD_LIBRARY_PATH goes before.
exits 0 env KILN_CACHE_DIR= LD_LIBRARY_PATH=lib ./trusting ../elsewhere
quiet "a relative LD_LIBRARY_PATH"
expect "the result" "$(cat out)" 42
exits 0 env KILN_CACHE_DIR= KILN_PLUGIN=lib/libkiln-llvm.so ./trusting ../elsewhere
quiet "a relative KILN_PLUGIN"
expect "the result" "$(cat out)" 42
# A relative folder stays the one it was when the cache was opened, written and read-only.
exits 0 env KILN_CACHE_DIR=cache KILN_STATS="$work/stats" ./trusting ../elsewhere
[ -n "$(find cache -name '*.kiln')" ] || fail "KILN_CACHE_DIR=cache: nothing is stored in the folder that was meant"
expect "files in another folder of that name" "$(find ../elsewhere/cache -type f)" ""
exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH=nowhere:cache KILN_STATS="$work/stats" ./trusting ../elsewhere
expect "compiles with a relative KILN_CACHE_PATH" "$(counter "$work/stats" compiles)" 0
# So do the files that the process writes at its end.
exits 0 env KILN_CACHE_DIR= KILN_STATS=counters KILN_AUDIT=findings ./trusting ../elsewhere
[ -s counters ] && [ -s findings ] || fail "KILN_STATS or KILN_AUDIT with a relative path is not where the program was started"
expect "files elsewhere" "$(cd ../elsewhere && ls | tr "\n" " ")" "cache lib "
cd ..

# ---- rights that are not those of who starts the program ---------------------------------------------------------------------

# refuses HOW COMMAND...: the program computes, and obeys none of the variables that name files or code.
refuses()
{
    how=$1
    shift
    rm -rf "$work/stolen"
    mkdir "$work/stolen"
    chmod 777 "$work/stolen"
    cp "$foreign" "$work/stolen/plugin.so"
    exits 0 env -u KILN_CACHE_DIR KILN_PLUGIN="$work/stolen/plugin.so" HOME="$work/stolen/home" "$@"
    quiet "$how"
    expect "the result of $how" "$(cat out)" 42
    for variable in KILN_CACHE_DIR=dir KILN_STATS=stats KILN_AUDIT=audit XDG_CACHE_HOME=xdg HOME=home; do
        exits 0 env -u KILN_CACHE_DIR HOME= "${variable%%=*}=$work/stolen/${variable#*=}" "$@"
        expect "what ${variable%%=*} wrote ($how)" "$(ls -A "$work/stolen")" plugin.so
    done
    # A file of settings that anybody else would believe.
    for variable in XDG_CONFIG_HOME="$work/conf" HOME="$work/confhome"; do
        exits 0 env -u KILN_CACHE_DIR -u XDG_CONFIG_HOME HOME= "$variable" "$@"
        expect "what $variable wrote ($how)" "$(ls -A "$work/stolen")" plugin.so
    done
    exits 0 env KILN_CACHE_PATH="$work/home/cache" KILN_MODE=no-compile sh -c '"$@" && exit 1 || exit 0' sh "$@"
    says err "nothing stored fits"
}

may_set_rights()
{
    [ "$(id -u)" = 0 ] || { echo "trust: not root: set-user-id programs are not tried" && return 1; }
    command -v setpriv >/dev/null || { echo "trust: there is no setpriv: set-user-id programs are not tried" && return 1; }
    setpriv --reuid $other --regid $other --clear-groups test -r "$build/lib/libkiln.so.0" ||
        { echo "trust: others can't read $build: set-user-id programs are not tried" && return 1; }
    cp "$(command -v id)" probe
    chmod 4755 probe
    [ "$(setpriv --reuid $other --regid $other --clear-groups ./probe -u)" = 0 ] ||
        { echo "trust: $work is mounted nosuid: set-user-id programs are not tried" && return 1; }
}

mkdir -p conf/kiln confhome/.config/kiln
echo "stats = $work/stolen/stats" >conf/kiln/config
cp conf/kiln/config confhome/.config/kiln
mkdir stolen
exits 0 env XDG_CONFIG_HOME="$work/conf" "$trusting"
[ -s stolen/stats ] || fail "the file of settings is not read by a program with plain rights"
if may_set_rights; then
    as_other="setpriv --reuid $other --regid $other --clear-groups"
    cp "$trusting" privileged
    chmod 4755 privileged
    refuses "a set-user-id program" $as_other "$work/privileged"
    chown $other privileged
    chmod 4755 privileged
    refuses "a set-user-id program started by root" "$work/privileged"
    if command -v setcap >/dev/null && cp "$trusting" capable && setcap cap_net_raw+ep capable 2>/dev/null; then
        refuses "a program with capabilities" $as_other "$work/capable"
    else
        echo "trust: setcap is not there or not allowed: programs with capabilities are not tried"
    fi
fi

# No setting is read in any other way than through kiln__config(); watched variables and options are the caller's.
left=$(cd "$source" && grep -rnE '\bgetenv *\(' src cli --include='*.c' --include='*.h' | grep -vE '^[^:]*:[0-9]*: *(/?\*|.*/\*.*getenv\(\))' |
    grep -vE '^src/(key/watch|base/environment)\.c:[0-9]+:.*getenv\((watch->)?name\)' |
    grep -vE '^src/remote/web_session\.c:[0-9]+:.*getauxval\(AT_SECURE\) && getenv\("SSLKEYLOGFILE"\)' |
    grep -vE '^src/base/config\.c:[0-9]+:.*setting->is_guarded \? kiln__getenv_trusted' || true)
expect "calls of getenv() that should be kiln__config()" "$left" ""

# ---- user namespaces ---------------------------------------------------------------------------------------------------------

# Where users are not mapped, everybody else is shown as the overflow user, and so are we.
if ! unshare -U true 2>/dev/null; then
    echo "trust: user namespaces are not allowed here: they are not tried"
elif [ "$(id -u)" != 0 ]; then
    echo "trust: not root: no files of others can be made, user namespaces are not tried"
else
    rm -rf "$work/theirs"
    cp -r home/cache theirs
    chown -R $other theirs
    chmod -R go+rX theirs
    exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/theirs" KILN_STATS="$work/stats" unshare -U "$trusting"
    expect "artifacts of others that were used" "$(counter stats disk_hits)" 0
    says err "is not used"
    # A folder of ours is ours while we are mapped.
    exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/home/cache" KILN_STATS="$work/stats" unshare -Ur "$trusting"
    expect "artifacts of our own that were used" "$(counter stats disk_hits)" 1
    # The overflow user in the first namespace is a user like any other.
    chown -R 65534 theirs
    exits 0 env KILN_CACHE_DIR= KILN_CACHE_PATH="$work/theirs" KILN_STATS=1 setpriv --reuid 65534 --clear-groups "$trusting"
    expect "artifacts of user 65534 that it used" "$(counter err disk_hits)" 1
fi

# ---- where counters go -------------------------------------------------------------------------------------------------------

# Nobody reads the fifo: the lines are lost, and the process leaves.
mkfifo fifo
for variable in KILN_STATS KILN_AUDIT; do
    exits 0 env $variable="$work/fifo" timeout -k 1 60 "$trusting"
done
# Its reader is slower than it is filled: the line is lost as well.
{ sleep 1000 <fifo & } 2>/dev/null
sleeper=$!
exec 3>fifo
dd if=/dev/zero of=fifo bs=4096 oflag=nonblock count=1000 2>/dev/null || true
for variable in KILN_STATS KILN_AUDIT; do
    exits 0 env $variable="$work/fifo" timeout -k 1 60 "$trusting"
done
exec 3>&-
kill $sleeper
wait $sleeper 2>/dev/null || true
# A reader gets the line, as do links, devices and the standard streams.
cat fifo >read &
exits 0 env KILN_STATS="$work/fifo" sh -c 'exec 3>"$KILN_STATS"; exec "$@"' sh "$trusting"
wait $!
expect "lines read from a fifo" "$(counter read calls)" 2
ln -s real link
exits 0 env KILN_STATS="$work/link" "$trusting"
exits 0 env KILN_STATS="$work/link" "$trusting"
expect "lines in a file behind a link" "$(wc -l <real)" 2
exits 0 env KILN_STATS=/dev/stderr "$trusting"
expect "calls on stderr" "$(counter err calls)" 2
env KILN_STATS=/dev/stdout "$trusting" | cat >out
expect "calls on stdout" "$(counter out calls 1)" 2
exits 0 env KILN_STATS=/dev/null "$trusting"
exits 0 env KILN_STATS=/dev/full "$trusting"

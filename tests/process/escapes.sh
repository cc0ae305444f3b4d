#!/bin/sh
# Names and texts out of files can't send escape sequences to the terminal of whoever looks at them.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
hostile=$(printf 'gr\303\274n\033]0;title\007\302\233\177\233')

KILN_LOG=miss "$build/tests/described" "$hostile" >out 2>log
KILN_OPT_LEVEL=3 "$build/tests/described" "$hostile" >out 2>>log

# No control character but newline and tab, in one byte or two, and no byte that is no UTF-8.
is_clean()
{
    [ "$(LC_ALL=C tr -cd '\001-\010\013-\037\177' <"$1" | wc -c)" = 0 ] || { od -c "$1" | head -n 40 >&2; fail "$2 prints a control character"; }
    [ "$(LC_ALL=C tr -cd '\233' <"$1" | wc -c)" = 0 ] || fail "$2 prints a control character of two bytes, or a part of one"
}

digest=$("$kiln" ls --json | grep -o '"digest":"[0-9a-f]*"' | head -n 1 | cut -d'"' -f4)
is_clean log "the log"
says log 'grün\x1b]0;title\x07\xc2\x9b\x7f\x9b'
for words in "ls" "show $digest" "why $digest" "verify" "stats --folder $KILN_CACHE_DIR"; do
    exits 0 "$kiln" $words
    is_clean out "kiln $words"
    exits 0 "$kiln" $words --json
    is_clean out "kiln $words --json"
    is_json out
done
exits 0 "$kiln" ls
says out 'grün\x1b]0;title'
exits 0 "$kiln" show "$hostile"
is_clean out "kiln show NAME"
says out 'function  grün\x1b]0;title\x07\xc2\x9b\x7f\x9b'
says out 'entry     start\x1b[2J'
says out 'called grün\x1b]0;title'
exits 1 "$kiln" show "$(printf 'no\033such')"
is_clean err "kiln show of what is not there"
exits 0 "$kiln" show "$digest" --section code
LC_ALL=C grep -q "$(printf '\033')" out || fail "a section is printed as it is"

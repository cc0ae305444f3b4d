#!/bin/sh
# kiln run, kiln why of the last run, kiln help X, ls with choices, completion, progress where no terminal is.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
export XDG_STATE_HOME="$work/state"

exits 2 "$kiln" why
says err "run a program with \`kiln run\` first"
exits 0 "$kiln" run -- "$bin/swiglu"
says out "swiglu of 2 x 3"
says err "kiln run: exit code 0, 1 process with Kiln"
says err "traced     1 times"
says err "compiled   1 kernels in"
says err "$work/state/kiln/last-run.json"
exits 0 "$kiln" why
says out "1 kernels compiled in"
says out "swiglu: first call"
says out "  1 call, "
exits 0 "$kiln" why --json
is_json out
says out '"reason":"first call","calls":1'

# The next run compiles nothing, and its time line replaces the last one.
exits 0 "$kiln" run --json -- "$bin/swiglu"
tail -n 1 out >json
is_json json
says json '"compiles":0'
exits 0 "$kiln" why
says out "0 kernels compiled"

# The program's exit code is ours; signals count from 128; a program that is not there is an error that names it.
exits 7 "$kiln" run -- sh -c 'exit 7'
exits 143 "$kiln" run -- sh -c 'kill -TERM $$'
exits 1 "$kiln" run -- ./nowhere
says err "./nowhere: No such file or directory"
exits 2 "$kiln" run
says err "which program?"
exits 1 env -u XDG_STATE_HOME HOME= "$kiln" run -- true
says err "neither XDG_STATE_HOME nor HOME"

# A time line of somebody else: what is no event is counted and passed over.
printf '[\n{"name":"x","ph":"X"},\nnonsense\n{"name":1}\n{"name":"call","cat":"call","ph":"X","args":{"function":"a\\u001b[31m","reason":"r","outcome":"made"}}\n' >state/kiln/last-run.json
exits 1 "$kiln" why
says err "2 lines of"
says out 'a\x1b[31m: r'

# help X is X --help.
for command in run why ls report doctor; do
    "$kiln" $command --help >wanted 2>/dev/null || continue
    exits 0 "$kiln" help $command
    cmp out wanted
done
exits 2 "$kiln" help frobnicate
says err "there is no command 'frobnicate'"

# ls chooses and sorts.
"$bin/quickstart" >/dev/null
exits 0 "$kiln" ls --function swiglu
expect "artifacts of swiglu" "$(grep -c ' swiglu ' out)" "$(($(wc -l <out) - 1))"
exits 0 "$kiln" ls --sort size --json
sizes=$(grep -o '"size_bytes":[0-9]*' out | cut -d: -f2)
expect "the largest first" "$sizes" "$(echo "$sizes" | sort -rn)"
exits 0 "$kiln" ls --limit 1
expect "lines with a limit" "$(wc -l <out)" 2
exits 0 "$kiln" ls --since 1h
[ "$(wc -l <out)" -gt 2 ] || fail "ls --since 1h lists nothing"
exits 0 "$kiln" ls --function nobody
says out "that were asked for"
exits 2 "$kiln" ls --sort colour
exits 2 "$kiln" ls --limit none
exits 2 "$kiln" ls --since yesterday

# Scripts of shells: each takes its own, and every command is in it.
for shell in bash zsh fish; do
    "$kiln" --completion $shell >script
    for command in $("$kiln" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do grep -q "\b$command\b" script || fail "$command is not completed by $shell"; done
    if command -v $shell >/dev/null 2>&1; then exits 0 $shell -n script; fi
done
exits 2 "$kiln" --completion tcsh
"$kiln" --completion bash >script
expect "what bash offers behind kiln ve" "$(bash -c '. ./script; COMP_WORDS=(kiln ve); COMP_CWORD=1; _kiln; echo "${COMPREPLY[@]}"')" verify
expect "what bash offers behind kiln ls --s" "$(bash -c '. ./script; COMP_WORDS=(kiln ls --s); COMP_CWORD=2; _kiln; echo "${COMPREPLY[@]}"')" "--since --sort"

# Colours and bars are for terminals.
if command -v script >/dev/null 2>&1; then
    TERM=xterm script -qec "$kiln doctor" /dev/null >shown || true
    grep -q "$(printf '\033')" shown || fail "doctor has no colours on a terminal"
    NO_COLOR=1 TERM=xterm script -qec "$kiln doctor" /dev/null >shown || true
    if grep -q "$(printf '\033')" shown; then fail "NO_COLOR is not obeyed"; fi
fi
"$kiln" doctor >shown 2>&1 || true
if grep -q "$(printf '\033')" shown; then fail "colours without a terminal"; fi

#!/bin/sh
# KILN_TRACE: what happened, as events that a trace viewer opens. Python reads the file as JSON.
. "$(dirname "$0")/lib.sh"

# count KIND: how many events of a kind `out.json` has; the whole file must be what the format says.
count()
{
    python3 - "$1" <<'END'
import json, sys
text = open("out.json", encoding="utf-8").read()
assert text.startswith("[\n") and text.endswith(",\n"), "the list is not open"
events = json.loads(text.rstrip().rstrip(",") + "]")
spans = [e for e in events if e["ph"] == "X"]
for e in spans:
    assert set(e) == {"name", "cat", "ph", "pid", "tid", "ts", "dur", "args"}, e
    assert e["dur"] >= 0 and e["ts"] > 0, e
names = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert names == {e["pid"] for e in spans}, "a process without a name"
print(sum(e["cat"] == sys.argv[1] for e in spans))
END
}

exits 0 env KILN_TRACE=out.json "$bin/swiglu"
expect "traces" "$(count trace)" 1
expect "compiles" "$(count compile)" 1
expect "phases of LLVM" "$(count phase)" 5
expect "loads of the compiler" "$(count "open the compiler")" 1
expect "links" "$(count link)" 1
expect "plans" "$(count plan)" 3
expect "runs" "$(count run)" 3
[ "$(count read)" -ge 1 ] || fail "no look into the folder"
says out.json '"reason":"swiglu: first call"'
says out.json '"name":"optimize","cat":"phase"'

# Another process appends; it compiles nothing.
exits 0 env KILN_TRACE=out.json "$bin/swiglu"
expect "compiles of both" "$(count compile)" 1
expect "runs of both" "$(count run)" 6
expect "lists that were opened" "$(grep -c '^\[$' out.json)" 1

# Eight processes at once: every line is whole.
for i in 1 2 3 4 5 6 7 8; do KILN_TRACE=out.json "$bin/swiglu" >/dev/null & done
wait
expect "runs of ten" "$(count run)" 30

# A file that can't be written is said once and changes nothing.
exits 0 env KILN_TRACE="$work/nowhere/out.json" "$bin/swiglu"
expect "complaints" "$(grep -c 'KILN_TRACE.*nowhere/out.json.*nothing is recorded' err)" 1
if [ -w /dev/full ]; then
    exits 0 env KILN_TRACE=/dev/full "$bin/swiglu"
    expect "complaints of a full disk" "$(grep -c 'KILN_TRACE.*No space left' err)" 1
fi
# A relative path is seen from where the process began; empty and 0 are off.
exits 0 env KILN_TRACE= "$bin/swiglu"
exits 0 env KILN_TRACE=0 "$bin/swiglu"
[ ! -e 0 ] || fail "KILN_TRACE=0 made a file"

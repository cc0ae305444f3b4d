#!/bin/sh
# kiln report: one page, whole or not at all. tests/browser/report.py looks at it in a browser.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln
export XDG_STATE_HOME="$work/state"

# Of a run, of a time line that is named, of a folder alone.
exits 0 "$kiln" run -- "$bin/swiglu"
exits 0 "$kiln" report
says out "kiln-report.html: "
says kiln-report.html "<title>Kiln report</title>"
says kiln-report.html '"texts":["",'
says kiln-report.html "swiglu: first call"
expect "what comes from elsewhere" "$(grep -oE '(src|href)="?(https?:)?//[^" >]*|@import|url\(' kiln-report.html | head -n 1)" ""
expect "folders that it left" "$(ls | grep -c 'kiln-report.html.new' || true)" 0
exits 0 "$kiln" report state/kiln/last-run.json -o other.html --json
is_json out
says out '"bad_lines":0'
rm -r state
exits 0 "$kiln" report --output folder.html
says folder.html '"artifacts":['
exits 0 "$kiln" report -o -
says out "</html>"

# The data is JSON, whatever names hold, and no name ends its element.
printf '[\n{"name":"</script><b>","cat":"call","ph":"X","pid":1,"tid":1,"ts":1.5,"dur":2,"args":{"function":"</script>","reason":"a\\u0000b","outcome":"made"}},\n' >evil.json
exits 0 "$kiln" report evil.json -o evil.html
if command -v python3 >/dev/null 2>&1; then
    python3 - <<'END'
import json, re
page = open("evil.html", encoding="utf-8").read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
assert "</script><b>" in data["texts"] and data["events"]["start"] == [0], data["texts"]
END
fi

# Bad input: a message that says what was wrong, and nothing half-written.
exits 1 "$kiln" report nowhere.json -o bad.html
says err "nowhere.json: No such file or directory"
exits 1 "$kiln" report "$bin/swiglu" -o bad.html
says err "has no event: is it a file that KILN_TRACE wrote?"
exits 1 "$kiln" report . -o bad.html
head -c 200 evil.json >cut.json
printf '{"name":"half' >>cut.json
exits 1 "$kiln" report cut.json -o cut.html
says err "lines of cut.json are no events and are left out"
[ -s cut.html ] || fail "what could be read of a cut file is not shown"
exits 1 "$kiln" report evil.json --folder nowhere -o bad.html
exits 1 "$kiln" report evil.json -o nowhere/page.html
says err "nowhere/page.html: No such file or directory; nothing was written"
if [ "$(id -u)" != 0 ]; then
    mkdir -m 500 closed
    exits 1 "$kiln" report evil.json -o closed/page.html
    says err "Permission denied; nothing was written"
fi
echo "what was there" >page.html
exits 1 env sh -c 'ulimit -f 1; trap "" XFSZ; exec "$0" report evil.json -o page.html' "$kiln"
says err "page.html: File too large; nothing was written"
expect "the page that was there" "$(cat page.html)" "what was there"
[ ! -e bad.html ] || fail "a page was written of what can't be read"
expect "what is left of pages" "$(ls -A | grep -c 'html.new' || true)" 0
if [ -w /dev/full ]; then exits 1 sh -c '"$0" report evil.json -o - >/dev/full' "$kiln"; fi
exits 2 "$kiln" report one two

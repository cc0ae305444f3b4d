#!/bin/sh
# The manual page is made from the texts of --help: every command, every option and every sentence is in it.
. "$(dirname "$0")/lib.sh"
kiln=$bin/kiln

"$kiln" --man >page
cmp page "$build/share/man/man1/kiln.1" || fail "the built page is not what kiln --man prints"
sed 's/\\-/-/g; s/\\e/\\/g; s/\\&//g; s/^\.B //; s/^\.SS //' page >plain
"$kiln" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >commands
[ "$(wc -l <commands)" -ge 9 ] || fail "--help lists too few commands"
while read -r command; do
    grep -qx "$command" plain || fail "$command is not in the list of the manual page"
    "$kiln" "$command" --help >help
    says plain "$(sed -n '1s/^usage: //p' help)"
    sed -n 's/^  \(--[a-z-]*\).*/\1/p' help >options
    says options --json
    while read -r option; do says plain "$option"; done <options
    # All words of the help text, in order, whatever the page does with line ends.
    tr -s ' \n' '\n' <help | sed '1,2d' | tr '\n' ' ' >words
    sed -n "/^kiln $command\b/,/^\.S/p" plain | sed '/^\.S/d; /^\.[A-Z]*$/d' | tr -s ' \n' '\n' | tr '\n' ' ' >section
    grep -qF -- "$(sed 's/ *$//' words)" section || { cat words section >&2; fail "the text of $command is not all in the manual page"; }
done <commands
if command -v groff >/dev/null 2>&1; then
    groff -man -Tascii -ww page >/dev/null 2>err
    expect "complaints of groff" "$(cat err)" ""
fi

# Every setting that the sources ask for is explained.
"$kiln" config --help >help
for variable in $(grep -rhoE '(getenv|getenv_trusted|config|config_number|config_unchecked)\("KILN_[A-Z0-9_]*"\)' "$source/src" "$source/cli" |
    grep -o 'KILN_[A-Z0-9_]*' | sort -u); do
    grep -q "^  $variable\( \|$\)" help || fail "kiln config --help lacks $variable"
done

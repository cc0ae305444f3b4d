#!/bin/sh
# docs.sh OUT: the site, as HTML. Sphinx and MyST, of the versions in tools/docs/requirements.txt, go from PyPI into a virtual
# environment beside OUT. Warnings are errors, so a page that Sphinx can't place fails; links are also looked at without it
# (tests/process/docs.sh).
set -eu
cd "$(dirname "$0")/.."
out=$1
environment=$(dirname "$out")/docs-venv
sources=$(dirname "$out")/docs-source

python3=${KILN_PYTHON:-python3}
mkdir -p "$(dirname "$out")"
if ! cmp -s tools/docs/requirements.txt "$environment/requirements.txt"; then
    "$python3" -c 'import ensurepip, venv' 2>/dev/null || KILN_PACKAGES="python3 python3-venv" tools/setup.sh
    rm -rf "$environment"
    "$python3" -m venv "$environment"
    "$environment/bin/pip" install -q --disable-pip-version-check -r tools/docs/requirements.txt
    cp tools/docs/requirements.txt "$environment/requirements.txt"
fi

"$python3" tools/docs/links.py --external
rm -rf "$sources" "$out"
"$python3" tools/docs/assemble.py "$sources"
"$environment/bin/sphinx-build" -q -W --keep-going -j auto -c tools/docs -b html "$sources" "$out"
cat >"$out/index.html" <<'END'
<!DOCTYPE html>
<meta charset="utf-8"><meta http-equiv="refresh" content="0; url=docs/index.html"><title>Kiln</title>
<a href="docs/index.html">Kiln</a>
END
echo "$out/index.html: $(find "$out/docs" "$out/examples" "$out/python" -name '*.html' | wc -l) pages"

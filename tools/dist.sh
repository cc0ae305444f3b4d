#!/bin/sh
# dist.sh OUT-FOLDER: kiln-VERSION.tar.gz, the sources of the last commit. One commit gives the same bytes, and the archive builds
# where there is no git.
set -eu
cd "$(dirname "$0")/.."
folder=$1
version=$(sed -n 's/^#define KILN_VERSION "\(.*\)"/\1/p' include/kiln.h)
mkdir -p "$folder"
[ -z "$(git status --porcelain)" ] || echo "dist.sh: what is not committed is not in the archive" >&2
git archive --format=tar --prefix="kiln-$version/" HEAD | gzip -9n >"$folder/kiln-$version.tar.gz.new"
mv "$folder/kiln-$version.tar.gz.new" "$folder/kiln-$version.tar.gz"
echo "$folder/kiln-$version.tar.gz: $(du -h "$folder/kiln-$version.tar.gz" | cut -f 1)"

#!/bin/sh
# deb.sh FOLDER: Debian packages of the last commit below FOLDER, built from the archive of tools/dist.sh in FOLDER/source; lintian
# must find no error.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^#define KILN_VERSION "\(.*\)"/\1/p' include/kiln.h)
date=$(git log -1 --format=%aD)
rm -rf "$1"
mkdir -p "$1/source"
folder=$(cd "$1" && pwd)
tools/dist.sh "$folder/source"
tar -C "$folder/source" -xf "$folder/source/kiln-$version.tar.gz"
cd "$folder/source/kiln-$version"
cp -R packaging/debian debian
cat >debian/changelog <<END
kiln ($version) unstable; urgency=medium

  * CHANGELOG.md says what changed.

 -- Kiln maintainers <kiln@packages.debian.org>  $date
END
dpkg-buildpackage -us -uc -b >"$folder/log" 2>&1 || { grep -v "^\[" "$folder/log" | cut -c1-300 | tail -n 20 >&2; exit 1; }
cd "$folder"
mv source/*.deb .
rm -r source
lintian --fail-on error --suppress-tags bad-distribution-in-changes-file ./*.deb
ls -l ./*.deb | awk '{ print $5, $9 }'

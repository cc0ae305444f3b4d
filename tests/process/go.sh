#!/bin/sh
# The Go client of examples/go under the race detector, where Go is installed. It has no lock of its own.
. "$(dirname "$0")/lib.sh"

if ! command -v go >/dev/null 2>&1 || grep -q 'KILN_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo "go: skipped, there is no Go, or the libraries are sanitized"
    exit 77
fi
export CGO_CFLAGS="-I$source/include" CGO_LDFLAGS="-L$build/lib -Wl,-rpath,$build/lib" GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off
cp -R "$source/examples/go" go
cd go
expect "files that gofmt would change" "$(gofmt -l .)" ""
exits 0 go vet ./...
exits 0 go test -race -count=1 ./...
says out "ok"
expect "locks on the client's side" "$(grep -cE 'sync\.|Mutex|LockOSThread' kiln.go || true)" 0

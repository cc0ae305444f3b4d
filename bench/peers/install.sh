#!/bin/sh
# install.sh BUILD: JAX, MLX and PyTorch of requirements.txt in BUILD/peers/venv, once: some minutes and 6 GB, most of it libraries for
# GPUs that PyTorch's wheel wants and nobody uses here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$1/peers/venv
cmp -s "$here/requirements.txt" "$venv/installed" && exit 0
echo "peers: installing JAX, MLX and PyTorch in $venv (once; some minutes)" >&2
mkdir -p "$1/peers"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet -r "$here/requirements.txt"
cp "$here/requirements.txt" "$venv/installed"

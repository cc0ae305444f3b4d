#!/bin/sh
# llama.sh BUILD [ROUNDS]: llama.cpp beside our decoder, on this machine, now: the model of bench/model.c in its three
# formats, a prompt of 64 tokens and the tokens after it, as many threads as there are cores.
#
# llama-bench is built once, from the sources inside PyPI's llama-cpp-python archive, below BUILD/peers; KILN_LLAMA_BENCH
# names one that is there already. Both programs take turns, ROUNDS times (3); llama_table.py prints medians and ratios.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
rounds=${2:-3}
folder=$build/peers
threads=$(nproc)
mkdir -p "$folder"

if [ -z "${KILN_LLAMA_BENCH:-}" ]; then
    KILN_LLAMA_BENCH=$folder/llama.cpp/bin/llama-bench
    if [ ! -x "$KILN_LLAMA_BENCH" ]; then
        echo "peers: building llama-bench in $folder (once; some minutes; log: build.log there)" >&2
        cd "$folder"
        [ -d source ] || {
            python3 -m pip download --quiet --no-deps --no-binary llama-cpp-python llama-cpp-python
            mkdir -p unpacked
            tar xzf llama_cpp_python-*.tar.gz --strip-components=1 -C unpacked
            mv unpacked source
        }
        {
            cmake -Wno-dev -G Ninja -S source/vendor/llama.cpp -B llama.cpp -DCMAKE_BUILD_TYPE=Release \
                -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
                -DLLAMA_BUILD_SERVER=OFF -DGGML_OPENMP=OFF
            cmake --build llama.cpp --target llama-bench
        } >build.log 2>&1 || { tail -20 build.log >&2; exit 1; }
        cd - >/dev/null
    fi
fi
cc=${CC:-cc}
[ "$folder/gguf_model" -nt "$here/gguf_model.c" ] || $cc -O2 -o "$folder/gguf_model" "$here/gguf_model.c"

results=$(mktemp -d "${TMPDIR:-/tmp}/kiln-peers-XXXXXX")
trap 'rm -rf "$results"' EXIT
for pair in f32:float32 bf16:bfloat16 "q4_0:4 bits"; do
    format=${pair%%:*} kind=${pair#*:}
    model=$folder/model-$format.gguf
    [ "$model" -nt "$folder/gguf_model" ] || "$folder/gguf_model" "$model" "$format"
    round=0
    while [ $round -lt "$rounds" ]; do
        round=$((round + 1))
        "$KILN_LLAMA_BENCH" -m "$model" -t "$threads" -ngl 0 -p 64 -n 0 -r 5 -o json >"$results/$format.prefill.$round" 2>"$results/log" &&
            "$KILN_LLAMA_BENCH" -m "$model" -t "$threads" -ngl 0 -p 0 -n 32 -d 64 -r 3 -o json >"$results/$format.decode.$round" 2>"$results/log" ||
            { tail -5 "$results/log" >&2; exit 1; }
        "$build/bin/kiln-bench" --json --repeats 5 --only "model, $kind, prefill of 64" >"$results/$format.prefill.ours.$round"
        "$build/bin/kiln-bench" --json --repeats 9 --only "model, $kind, decode at 64" >"$results/$format.decode.ours.$round"
    done
done
python3 "$here/llama_table.py" "$results" "$rounds" "$threads"

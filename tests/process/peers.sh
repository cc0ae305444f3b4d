#!/bin/sh
# The table and the picture of bench/results are what their scripts make of its JSON, and show every row, lost ones too.
. "$(dirname "$0")/lib.sh"
scripts=$source/bench/peers
export PYTHONDONTWRITEBYTECODE=1
python3 "$scripts/table.py" "$source/bench/results" table.md
cmp table.md "$source/bench/results/table.md" || fail "bench/results/table.md is not what its JSON gives: make figures"
python3 "$scripts/figures.py" "$source/bench/results" peers.svg
cmp peers.svg "$source/docs/figures/peers.svg" || fail "docs/figures/peers.svg is not what bench/results gives: make figures"
python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' peers.svg || fail "the picture is no XML"
says peers.svg '<title id="title">'
says peers.svg 'prefers-color-scheme: dark'
for file in "$source"/bench/results/*.json; do is_json "$file"; done

# A recorded row in which we are ahead of one library and behind another.
mkdir some
cat >some/kernels.json <<'END'
{"piece": "kernels", "rounds": 3, "threads": 2, "processor": "some", "cores": 2, "load_before": 0.1, "load_after": 0.2,
 "versions": {"Kiln": "1", "JAX": "2", "MLX": "3", "PyTorch": "4"},
 "rows": [{"row": "a*b", "unit": "ms", "less_is_better": true, "medians": {"Kiln": 4.0, "JAX": 2.0, "MLX": 12.0}},
          {"row": "words", "unit": "tokens/s", "less_is_better": false, "medians": {"Kiln": 4.0, "memory": 2.0, "JAX": 2.0}}]}
END
python3 "$scripts/table.py" some some.md
says some.md '| a\*b | ms | 4 | 2 | 12 |  | JAX 0.50, **behind** |'
says some.md '| words | tokens/s | 4 (2) | 2 (1) |  | 2 | JAX 2.00 |'
says some.md 'Kiln 1, JAX 2, MLX 3.'
python3 "$scripts/figures.py" some some.svg
says some.svg 'a*b: JAX 0.5 times ours. a*b: MLX 3 times ours. words: JAX 2 times ours.'

# llama_table.py FOLDER ROUNDS THREADS: what llama.sh measured, as a table: medians of tokens per second, and ratios.
import json
import statistics
import sys

folder, rounds, threads = sys.argv[1], int(sys.argv[2]), sys.argv[3]
formats = [("f32", "float32 / F32"), ("bf16", "bfloat16 / BF16"), ("q4_0", "4 bits (affine 64) / Q4_0")]


def read(name):
    with open(f"{folder}/{name}") as file:
        return json.load(file)


def theirs(format, what):
    return statistics.median(read(f"{format}.{what}.{i + 1}")[0]["avg_ts"] for i in range(rounds))


def ours(format, what):
    rows = [read(f"{format}.{what}.ours.{i + 1}")[0] for i in range(rounds)]
    rate = statistics.median(row["tokens"] * 1e9 / row["ns"] for row in rows)
    floor = statistics.median(row["floor_ns"] / row["ns"] for row in rows)
    return rate, floor


print(f"64 million weights, 4 layers; {threads} threads; tokens/s, medians of {rounds} rounds in turns")
print(f"{'':38} {'Kiln':>9} {'of floor':>9} {'llama.cpp':>10} {'ratio':>7}")
for format, name in formats:
    for what, text in (("prefill", "prefill of 64"), ("decode", "decode after 64")):
        peer, (rate, floor) = theirs(format, what), ours(format, what)
        verdict = "" if rate >= peer else "  behind"
        print(f"{name + ', ' + text:38} {rate:9.1f} {floor:9.2f} {peer:10.1f} {rate / peer:7.2f}{verdict}")

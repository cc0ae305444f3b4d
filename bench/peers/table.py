"""table.py FOLDER OUT: what run.py measured, as a table of Markdown. Nothing is left out; rows in which we are behind say so."""
import json
import os
import sys

TITLES = {
    "first": "A process's first call: x\\*sigmoid(x)\\*y of 1024 floats",
    "warm": "A warm call with its result: a\\*b; ours from C, theirs from Python",
    "kernels": "Compiled functions, float32",
    "gradients": "Compiled gradients, float32; *memory*: inputs and results moved once, half read and half written",
    "model": "A decoder, 64 million weights; ours is the bench's, and both choose the same tokens",
    "train": "A training step: the decoder of examples/train, float32",
    "llama": "A decoder, 64 million weights, beside llama.cpp",
}
NOTES = {
    "first": "With its arrays. *Whole process* has the start of the program and, for the others, of Python and their import.",
    "kernels": "A call has memory for its result: ours keeps it, the others ask the system each time, which is 16,385 page faults for 64 MiB.",
    "gradients": "In parentheses: passes, times the time of *memory*. A call has memory for its results as above; PyTorch's autograd computes the function's value too.",
}
NO_PEER = ("Kiln", "Kiln without its base pack", "memory")


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def read(folder):
    """The pieces that are there, in the order of TITLES."""
    paths = [os.path.join(folder, piece + ".json") for piece in TITLES]
    return [json.load(open(path)) for path in paths if os.path.exists(path)]


def gain(row, library):
    """How many times ours a peer's time is, or of its rate ours: above 1 we are ahead."""
    ours, theirs = row["medians"]["Kiln"], row["medians"][library]
    return theirs / ours if row["less_is_better"] else ours / theirs


def peers_of(row):
    return [library for library in row["medians"] if library not in NO_PEER]


def cell(medians, library):
    """With how many times the memory's time it is, where that was measured."""
    if library not in medians:
        return ""
    passes = f" ({number(medians[library] / medians['memory'])})" if "memory" in medians and library != "memory" else ""
    return number(medians[library]) + passes


def table(result):
    libraries = list(dict.fromkeys(library for row in result["rows"] for library in row["medians"]))
    lines = [f"| | unit | {' | '.join(libraries)} | best of the others to ours |", "| --- |" + " --- |" * (len(libraries) + 2)]
    for row in result["rows"]:
        cells = [cell(row["medians"], name) for name in libraries]
        best = min(peers_of(row), key=lambda name: gain(row, name))
        worth = gain(row, best)
        verdict = f"{best} {worth:.2f}" + ("" if worth >= 1 else ", **behind**")
        lines.append(f"| {row['row'].replace('*', chr(92) + '*')} | {row['unit']} | {' | '.join(cells)} | {verdict} |")
    return lines


def section(result):
    load = f"load {result['load_before']} before, {result['load_after']} after"
    used = {library for row in result["rows"] for library in row["medians"]}
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items() if name in used)
    rounds = f"{result['rounds']} round" + ("s" if result["rounds"] > 1 else "")
    return ["", f"## {TITLES[result['piece']]}", "", *table(result), "",
            *filter(None, [NOTES.get(result["piece"])]), f"{rounds}, {load}, {result['threads']} threads. {versions}."]


def main():
    results = read(sys.argv[1])
    processors = " and ".join(sorted({f"{r['processor']}, {r['cores']} cores" for r in results}))
    lines = ["# Kiln beside others", "", f"Written by bench/peers/table.py from the JSON in this folder, which `make peers` measures. {processors}.",
             "Medians of rounds in turns. Times: less is better; tokens/s: more is better. The last column has the best of the other libraries:",
             "times our time, or our rate by its; below 1 we are behind."]
    for result in results:
        lines += section(result)
    with open(sys.argv[2], "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

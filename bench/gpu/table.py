"""table.py - one table of the JSON lines that bench.cu and others.py wrote.

    table.py FILE...

Rows stand in the order in which they came; "ratio" is ours against what "of" names, and "aim" is what it should reach.
"""

import json
import sys

HEADER = ("row", "unit", "ours", "by hand", "copy", "ratio", "of", "aim", "JAX", "PyTorch", "Triton")
COUNTS = ("compiles", "links", "driver_compiles")
LIBRARIES = ("jax", "torch", "triton")


def read(paths):
    rows, notes = {}, []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                try:
                    entry = json.loads(line)
                    name = entry["row"]
                except (ValueError, KeyError, TypeError):
                    continue  # something else that a library printed
                if "error" in entry:
                    notes.append("%s: %s: %s" % (entry.get("library", "kiln"), name, entry["error"]))
                elif "library" in entry:
                    rows.setdefault(name, {"unit": entry["unit"]})[entry["library"]] = entry["value"]
                else:
                    rows.setdefault(name, {}).update(entry)
    return rows, notes


def cell(value):
    return "" if value is None else "%.2f" % value if isinstance(value, float) else str(value)


def cells(name, row):
    ratio = "%.3f" % row["ratio"] if "ratio" in row else ""
    counts = ["%d %s" % (row[key], key.replace("_", " ")) for key in COUNTS if key in row]
    texts = [name, row["unit"]] + [cell(row.get(key)) for key in ("ours", "hand", "copy")]
    texts += [ratio, row.get("of", ", ".join(counts)), row.get("aim", "")]
    return texts + [cell(row.get(library)) for library in LIBRARIES]


def main():
    rows, notes = read(sys.argv[1:])
    table = [list(HEADER)] + [cells(name, row) for name, row in rows.items()]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADER))]
    for line in table:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    for note in notes:
        print(note)


if __name__ == "__main__":
    main()

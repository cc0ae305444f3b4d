"""figures.py FOLDER OUT: what run.py measured, as a picture: for each row and library, how many times ours its time is.

An SVG of its own, without scripts and fonts; colours follow a reader's light or dark mode, shapes tell libraries apart without
colours, and title and desc have the numbers as text.
"""
import math
import os
import sys
from xml.sax.saxutils import escape

from table import gain, peers_of, read

WIDTH, LEFT, RIGHT, TOP, STEP = 900, 370, 24, 74, 20
DECADES = (-1, 5)
GROUPS = {"first": "first call", "warm": "warm call", "kernels": "kernels", "gradients": "gradients", "model": "decoder",
          "train": "training", "llama": "decoder, llama.cpp"}
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.group { font-weight: 600 } .small { font-size: 11px; fill: #59636e }
.back { fill: #ffffff } .grid { stroke: #d1d9e0; stroke-width: 1 } .equal { stroke: #1f2328; stroke-width: 1.5 } .behind { fill: #fbe9e7 }
.JAX { fill: #0a6cce } .MLX { fill: #b35900 } .PyTorch { fill: #8b3fd1 } .llama { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .small { fill: #9198a1 } .back { fill: #0d1117 } .grid { stroke: #3d444d } .equal { stroke: #f0f6fc } .behind { fill: #3a1d1d }
.JAX { fill: #58a6ff } .MLX { fill: #f0883e } .PyTorch { fill: #bc8cff } .llama { fill: #3fb950 } }
"""
SHAPES = {  # around 0, 0
    "JAX": '<circle r="5"',
    "MLX": '<rect x="-4.5" y="-4.5" width="9" height="9"',
    "PyTorch": '<path d="M0 -6 L5.5 4.5 L-5.5 4.5 Z"',
    "llama.cpp": '<path d="M0 -6 L6 0 L0 6 L-6 0 Z"',
}


def across(value):
    share = (math.log10(value) - DECADES[0]) / (DECADES[1] - DECADES[0])
    return LEFT + min(max(share, 0), 1) * (WIDTH - LEFT - RIGHT)


def mark(library, x, y, text):
    name = library.split(".")[0]
    return f'<g transform="translate({x:.1f} {y:.1f})">{SHAPES[library]} class="{name}"><title>{escape(text)}</title>{closing(library)}</g>'


def closing(library):
    return f"</{SHAPES[library][1:].split()[0]}>"


def sentence(row, library):
    worth = gain(row, library)
    return f"{row['row']}: {library} {worth:.3g} times ours" if worth < 1000 else f"{row['row']}: {library} {worth:,.0f} times ours"


def axis(bottom):
    lines = [f'<rect class="behind" x="{LEFT}" y="{TOP - 8}" width="{across(1) - LEFT:.1f}" height="{bottom - TOP + 8}"/>']
    for decade in range(DECADES[0], DECADES[1] + 1):
        x = across(10.0**decade)
        lines.append(f'<line class="{"equal" if decade == 0 else "grid"}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}"/>')
        lines.append(f'<text class="small" text-anchor="middle" x="{x:.1f}" y="{TOP - 14}">{10.0**decade:,g}</text>')
    return lines


def picture(results):
    marks, said, y = [], [], TOP
    for result in results:
        y += STEP
        marks.append(f'<text class="group" x="12" y="{y}">{GROUPS[result["piece"]]}</text>')
        for row in result["rows"]:
            y += STEP
            marks.append(f'<text x="24" y="{y}">{escape(row["row"])}</text>')
            for library in peers_of(row):
                said.append(sentence(row, library))
                marks.append(mark(library, across(gain(row, library)), y - 4, said[-1]))
    bottom, x, legend = y + 10, 12, []
    for library in SHAPES:
        legend += [mark(library, x + 6, 42, library), f'<text x="{x + 18}" y="46">{library}</text>']
        x += 85
    title = "Time of other libraries as a multiple of Kiln's, on a CPU with 2 threads; right of 1 Kiln is faster"
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 12}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(title)}</title>', f'<desc id="desc">{escape(". ".join(said))}.</desc>', f"<style>{STYLE}</style>",
            f'<rect class="back" width="{WIDTH}" height="{bottom + 12}"/>', *axis(bottom),
            f'<text class="group" x="12" y="20">{escape(title)}</text>', *legend, *marks, "</svg>"]


def main():
    os.makedirs(os.path.dirname(os.path.abspath(sys.argv[2])), exist_ok=True)
    with open(sys.argv[2], "w") as file:
        file.write("\n".join(picture(read(sys.argv[1]))) + "\n")


if __name__ == "__main__":
    main()

"""The pages of the documentation, and what is in one: fenced blocks, links, headings. Paths are those from the root of the tree."""
import os
import re

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
INDEX = "docs/index.md"
FOLDERS = ("docs", "examples", "python")  # whose .md files are pages
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def all_pages():
    found = [name for name in BESIDE if os.path.exists(os.path.join(ROOT, name))]
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [name for name in folders if name not in ("build", "__pycache__") and not name.endswith(".egg-info")]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return sorted(found)


class Block:
    """A fenced block: its language, its lines, the line of the page on which it begins, and the comment in front of it."""

    def __init__(self, language, line, mark):
        self.language, self.line, self.mark, self.lines = language, line, mark, []

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)


def split(text):
    """The blocks of a page, and its other lines as pairs (number, line)."""
    blocks, prose, block, mark = [], [], None, ""
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line.startswith("```"):
                blocks.append(block)
                block = None
            else:
                block.lines.append(line)
        elif line.startswith("```"):
            block, mark = Block(line[3:].strip(), number, mark), ""
        else:
            prose.append((number, line))
            comment = re.fullmatch(r"<!-- (.*) -->", line)
            mark = comment.group(1) if comment else mark if not line else ""
    return blocks, prose


def links(text):
    """Pairs (line, target) of what a page links to; code is left out."""
    return [(number, link.group(2)) for number, line in split(text)[1] for link in LINK.finditer(re.sub(r"`[^`]*`", "", line))]


def anchors(text):
    """The names of its headings, as GitHub and MyST make them."""
    found = set()
    for _, line in split(text)[1]:
        heading = re.match(r"#+ +(.*)", line)
        if heading:
            name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", name).replace(" ", "-"))
    return found


def resolve(page, target):
    """What a link of a page names: (path, anchor). The path is None where the link leads elsewhere."""
    if re.match(r"[a-z]+:", target):
        return None, None
    path, _, anchor = target.partition("#")
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, anchor

#!/usr/bin/env python3
"""
reference.py FOLDER: a page for each public header, made from its comments: FOLDER/kiln.md for kiln.h, FOLDER/inspect.md for
kiln/inspect.h. Fails where a function has no comment.

A header is read as its writers lay it out: sections begin with a rule in a comment; a comment that begins a line belongs to the
declarations behind it, up to an empty line or the next such comment.
"""
import glob
import os
import re
import sys

import pages

FUNCTION = re.compile(r"^(?!typedef|#|extern|\s)[\w ]+[ *](\w+)\(", re.MULTILINE)
TYPE = re.compile(r"^typedef (?:struct|enum|union) \w+ (\w+);|^\} (\w+);|^typedef [\w ]+ (\w+)\(|^extern const \w+ (\w+)|^#define (KILN_\w+)", re.MULTILINE)
BODY = re.compile(r"static inline .*?\)\n\{", re.DOTALL)  # declared above
SECTION = re.compile(r"/\* -+ (.*?) -+ \*/$")
SKIPPED = re.compile(r"^(#(ifn?def|endif|else|include|define KILN_[A-Z_]*H$)|extern \"C\"|\}$)")


def headers():
    found = ["include/kiln.h"] + glob.glob("include/kiln/*.h", root_dir=pages.ROOT)
    return sorted(found, key=lambda path: (path != "include/kiln.h", path))


def page_name(header):
    return os.path.basename(header)[:-2] + ".md"


def prose_of(comment):
    """A comment as Markdown: what is indented is code."""
    lines = [re.sub(r"^ ?\* ?", "", line) for line in comment.strip()[2:-2].strip("\n").splitlines()]
    out = []
    for line in lines:
        if line.startswith("    "):
            out.append(line)
            continue
        if out and out[-1].startswith("    ") and line.strip():
            out.append("")
        pieces = re.split(r"(`[^`]*`)", line.strip())
        out.append("".join(piece if piece.startswith("`") else re.sub(r"([*<\[])|\b(_)", lambda m: "\\" + m.group(0), piece) for piece in pieces))
    return "\n".join(out).strip()


def pieces(text):
    """(comment, code) for each group of declarations; sections as (title, None)."""
    comment, code, inside, depth = "", "", False, 0

    def flush():
        nonlocal comment, code
        if comment or code.strip():
            yield comment, code
        comment, code = "", ""

    for line in text.splitlines():
        section = SECTION.match(line)
        if section:
            yield from flush()
            yield section.group(1), None
        elif inside:
            comment += line + "\n"
            inside = "*/" not in line
        elif line.startswith("/*") and not depth and not code.endswith("\\\n"):
            yield from flush()
            comment, inside = line + "\n", "*/" not in line
        elif not line.strip() and not depth:
            yield from flush()
        elif SKIPPED.match(line) and not depth and not code.endswith("\\\n"):
            continue
        else:
            code += line + "\n"
            depth += line.count("{") - line.count("}")
    yield from flush()


def names(code):
    bare = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
    functions = [name + "()" for name in FUNCTION.findall(bare)]
    types = [next(filter(None, groups)) for groups in TYPE.findall(bare)]
    return functions or list(dict.fromkeys(types)), functions


def page_of(header):
    """Markdown, and the functions that have no comment."""
    text = pages.read(header)
    name = header[len("include/"):]
    out, bare, level = [f"# {name}", ""], [], "## "
    for comment, code in pieces(text):
        if code is None:
            out += [f"## {comment.capitalize()}", ""]
            level = "### "
            continue
        if not code.strip():
            out += [prose_of(comment), ""]
            continue
        if BODY.match(code):
            continue
        titles, functions = names(code)
        if titles:
            out += [level + ", ".join(titles if functions else titles[:4]), ""]
        if comment:
            out += [prose_of(comment), ""]
        elif functions and "/*" not in code:
            bare += functions
        out += ["```c", code.rstrip("\n"), "```", ""]
    return "\n".join(out), bare


def main(folder):
    failed = False
    os.makedirs(folder, exist_ok=True)
    for header in headers():
        text, bare = page_of(header)
        bare_text = re.sub(r"/\*.*?\*/", "", pages.read(header), flags=re.DOTALL)
        declared = set(re.findall(r"^(?!typedef)[\w ]+[ *](_?(?:mlx_)?kiln_[a-z0-9_]+)\(", bare_text, re.MULTILINE))
        shown = set(re.findall(r"\b(\w+)\(\)", "\n".join(line for line in text.splitlines() if line.startswith("##"))))
        for name in sorted(declared - shown):
            print(f"{header}: {name}() has no heading in the reference")
        for name in bare:
            print(f"{header}: {name} has no comment")
        failed = failed or bool(bare) or bool(declared - shown)
        with open(os.path.join(folder, page_name(header)), "w", encoding="utf-8") as file:
            file.write(text)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

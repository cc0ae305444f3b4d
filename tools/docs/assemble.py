#!/usr/bin/env python3
"""
assemble.py FOLDER: the sources of the site. Pages keep their places in the tree; what else they link to is put beside them, to be
downloaded; a link to a folder is one to its README.md, or none, as one to Markdown that is no page; a public header is the page that is
made of it. Each section of docs/index.md becomes an entry of the site's contents.
"""
import os
import re
import shutil
import sys

import pages
import reference

out = sys.argv[1]
api = {header: "docs/api/" + reference.page_name(header) for header in reference.headers()}
everything = set(pages.all_pages())


def place_of(path):
    """Where in the site a path of the tree is; None: nowhere."""
    if path in api:
        return api[path]
    if os.path.isdir(os.path.join(pages.ROOT, path)):
        path = os.path.join(path, "README.md")
        return path if path in everything else None
    return path if path in everything or not path.endswith(".md") else None


def rewrite(page, line):
    def link(match):
        text, target = match.group(1), match.group(2)
        path, anchor = pages.resolve(page, target)
        if path is None or path == page:
            return match.group(0)
        place = place_of(path)
        if place is None:
            return text
        if place == path and path not in everything:
            os.makedirs(os.path.join(out, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(pages.ROOT, path), os.path.join(out, path))
        target = os.path.relpath(place, os.path.dirname(page)) + ("#" + anchor if anchor else "")
        return match.group(0)[: match.group(0).index("](")] + f"]({target})"

    return pages.LINK.sub(link, line)


def contents(text):
    """The hidden tables of contents that the index's sections make."""
    yield "\n"
    section, links = "", {}
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        for match in pages.LINK.finditer(line):
            place = place_of(pages.resolve(pages.INDEX, match.group(2).partition("#")[0])[0])
            if section and place and place.endswith(".md"):
                links.setdefault(section, {})[os.path.relpath(place, "docs")[:-3]] = True
    for section, places in links.items():
        yield f"```{{toctree}}\n:hidden:\n:caption: {section}\n\n" + "".join(f"{place}\n" for place in places) + "```\n\n"


def put(page, text):
    os.makedirs(os.path.dirname(os.path.join(out, page)), exist_ok=True)
    with open(os.path.join(out, page), "w", encoding="utf-8") as file:
        file.write(text)


for page in everything:
    text = pages.read(page)
    in_code = {number for number, _ in enumerate(text.splitlines(), 1)} - {number for number, _ in pages.split(text)[1]}
    lines = [line if number in in_code else rewrite(page, line) for number, line in enumerate(text.splitlines(), 1)]
    put(page, "\n".join(lines) + "\n" + ("".join(contents(text)) if page == pages.INDEX else ""))
sys.exit(reference.main(os.path.join(out, "docs/api")))

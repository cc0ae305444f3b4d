#!/usr/bin/env python3
"""links.py: no link of a page is dead, and every page can be reached from docs/index.md. --external lists links to elsewhere."""
import os
import sys

import pages


def problems():
    texts = {page: pages.read(page) for page in pages.all_pages()}
    leads_to = {page: set() for page in texts}
    for page, text in texts.items():
        for line, target in pages.links(text):
            path, anchor = pages.resolve(page, target)
            if path is None:
                if "--external" in sys.argv:
                    print(f"{page}:{line}: {target}")
                continue
            if not os.path.exists(os.path.join(pages.ROOT, path)):
                yield f"{page}:{line}: {target} is not there"
            elif anchor and anchor not in pages.anchors(texts.get(path, "")):
                yield f"{page}:{line}: {path} has no heading '{anchor}'"
            leads_to[page].add(path)
    reached, ahead = set(), [pages.INDEX]
    while ahead:
        page = ahead.pop()
        if page in texts and page not in reached:
            reached.add(page)
            ahead += leads_to[page]
    for page in sorted(set(texts) - reached):
        yield f"{page}: no link leads here from {pages.INDEX}"


found = list(problems())
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))

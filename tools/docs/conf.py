"""Sphinx's settings: tools/docs.sh."""
project = "Kiln"
author = "The authors of Kiln"
copyright = author
root_doc = "docs/index"
extensions = ["myst_parser"]
myst_heading_anchors = 4
myst_enable_extensions = []
# Language names of blocks that Pygments does not know, and Markdown that has no first heading of level 1 in it.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "none"
html_theme = "furo"
html_title = "Kiln"
html_copy_source = False
html_show_sourcelink = False

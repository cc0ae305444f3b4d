"""Kiln's messages go to the logger "kiln": what missed as INFO, faults as WARNING."""

import logging
import os

logger = logging.getLogger("kiln")
_MISS = 1


def log(kind, text):
    logger.log(logging.INFO if kind == _MISS else logging.WARNING, "%s", text)


def set_up():
    """KILN_LOG asks for lines: they are shown on stderr, as in C, unless the program has set the logger up itself."""
    if os.environ.get("KILN_LOG") and not logger.handlers and logger.level == logging.NOTSET:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("kiln: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False

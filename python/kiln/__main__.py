"""python -m kiln: the command."""

import os
import shutil
import sys


def command():
    """The one in the package, else the one of a build or of the system."""
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "bin", "kiln")
    for path in (os.environ.get("KILN_COMMAND"), here):
        if path and os.access(path, os.X_OK):
            return path
    return shutil.which("kiln")


def main():
    path = command()
    if path is None:
        sys.exit("python -m kiln: the command was not installed with this package; KILN_COMMAND names one")
    os.execv(path, ["kiln", *sys.argv[1:]])


if __name__ == "__main__":
    main()

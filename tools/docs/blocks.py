#!/usr/bin/env python3
"""
blocks.py PAGE...: compiles and runs the code of learning pages, in a folder for each that has nothing but examples, and compares
what it prints.

Blocks of sh are run, one after the other in one shell; a block of text behind one is what it prints, with errors, but for times, sizes,
digests, the level of the processor, and what `...` stands for. A comment in front of a block, alone on its line, says what else is done with it:

    file: NAME             it is written to that file, before any command runs
    quote: PATH            its lines stand in that file of the tree, which has its own test
    not run: REASON        nothing is done with it
"""
import difflib
import os
import re
import signal
import subprocess
import sys
import tempfile

import pages

# What differs from run to run and from machine to machine: each stands for all of its kind, and so does `...` for anything.
VARYING = (
    r"\.\.\.",
    r"\d+(?:\.\d+)? +(?:ns|us|ms|s|B|bytes|KiB|MiB)\b",  # times and sizes
    r"\d{4}-\d\d-\d\d \d\d:\d\d",
    r"\b[0-9a-f]{12,64}\b|(?<=_)[0-9a-f]{8}\b|(?<=\[)[0-9a-f]{8}\b",  # digests
    r"\bx86-64-v\d\b",
)


def pattern_of(text):
    """A regular expression for what is printed."""
    pattern, at = "", 0
    for match in re.finditer("|".join(f"({kind})" for kind in VARYING), text):
        pattern += re.escape(text[at : match.start()])
        pattern += ".*?" if match.lastindex == 1 else f"(?:{VARYING[match.lastindex - 1]})"
        at = match.end()
    return re.sub(r"(\\ )+", " +", pattern + re.escape(text[at:]))  # columns move


class Page:
    def __init__(self, path, folder):
        self.path, self.folder, self.problems = path, folder, []
        self.commands = []  # pairs (block of sh, block of text or None)

    def problem(self, block, text):
        self.problems.append(f"{self.path}:{block.line}: {text}")

    def take(self):
        previous = None
        for block in pages.split(pages.read(self.path))[0]:
            kind, _, detail = block.mark.partition(": ")
            if kind == "not run" and len(detail) > 9:
                pass
            elif kind == "file":
                with open(os.path.join(self.folder, detail), "w", encoding="utf-8") as file:
                    file.write(block.text)
            elif kind == "quote":
                if block.text not in pages.read(detail):
                    self.problem(block, f"is not what stands in {detail}")
            elif block.language == "sh":
                self.commands.append([block, None])
            elif block.language == "text" and previous is not None and previous.language == "sh" and self.commands:
                self.commands[-1][1] = block
            else:
                self.problem(block, f"a block of '{block.language}' that is neither run nor compared, without a reason")
            previous = block

    def run(self):
        script = "set -e\n"
        for number, (block, _) in enumerate(self.commands):
            with open(os.path.join(self.folder, f".{number}.sh"), "w", encoding="utf-8") as file:
                file.write(block.text)
            script += f"echo {number} >.reached\n. ./.{number}.sh >.{number}.out 2>&1\n"
        home = os.path.join(self.folder, ".home")
        os.mkdir(home)
        os.symlink(os.path.join(pages.ROOT, "examples"), os.path.join(self.folder, "examples"))
        shell = subprocess.Popen(["sh", "-c", script], cwd=self.folder, env={**os.environ, "HOME": home}, stdin=subprocess.DEVNULL,
                                 start_new_session=True)
        status = shell.wait()
        try:
            os.killpg(shell.pid, signal.SIGKILL)  # what a page has started and not ended
        except ProcessLookupError:
            pass
        reached = int(open(os.path.join(self.folder, ".reached")).read()) if self.commands else 0
        for number, (block, wanted) in enumerate(self.commands[: reached + 1]):
            with open(os.path.join(self.folder, f".{number}.out"), encoding="utf-8") as file:
                got = file.read()
            if status and number == reached:
                self.problem(block, f"exit code {status}:\n{got}")
            elif wanted and not re.fullmatch(pattern_of(wanted.text.rstrip("\n")), got.rstrip("\n"), re.DOTALL):
                differs = difflib.unified_diff(wanted.text.splitlines(), got.splitlines(), "the page", "printed", lineterm="", n=1)
                self.problem(wanted, "is not what is printed:\n" + "\n".join(differs))


failed = 0
for path in sys.argv[1:]:
    with tempfile.TemporaryDirectory(prefix="kiln-docs-") as folder:
        page = Page(path, folder)
        page.take()
        if not page.problems:
            page.run()
        for text in page.problems:
            print(text)
        failed += len(page.problems)
        print(f"{path}: {len(page.commands)} blocks run")
sys.exit(failed != 0)

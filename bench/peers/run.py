"""run.py BUILD [--rounds N] [PIECE...] - make peers: other libraries beside ours, on this machine, now, two threads each.

Pieces: first, warm, kernels, gradients, model, train, llama; all but llama (llama.sh, some minutes to build once) when none is named.
Each writes bench/results/PIECE.json: versions, the machine's load before and after, and for every row the median of each round.
Programs take turns, N rounds (3). What a program computed is compared with what ours did before its times are taken: other
numbers fail the row. KILN_PEERS_RUN is put in front of each timed program, "taskset -c 0,1" by itself.
"""
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "..", "results")
LIBRARIES = {"jax": "JAX", "mlx": "MLX", "torch": "PyTorch"}
PIECES = ["first", "warm", "kernels", "gradients", "model", "train", "llama"]
REPEATS = {"warm": 15, "kernels": 9, "gradients": 5}


class Run:
    def __init__(self, build, rounds):
        self.build, self.rounds = os.path.abspath(build), rounds
        self.in_front = shlex.split(os.environ.get("KILN_PEERS_RUN", "taskset -c 0,1"))
        self.folder = None  # of the piece that runs: what its programs compile
        self.python = os.path.join(self.build, "peers", "venv", "bin", "python")

    def call(self, command, folder, **more):
        """Runs a program whose caches are in `folder`; what it printed, and the seconds it took."""
        environment = dict(
            os.environ, KILN_CACHE_DIR=folder, JAX_COMPILATION_CACHE_DIR=folder, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
            JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1", JAX_PLATFORMS="cpu", TORCHINDUCTOR_CACHE_DIR=folder, TMPDIR=folder,
            OMP_NUM_THREADS="2", PYTHONDONTWRITEBYTECODE="1", **more)
        clock = ["sh", "-c", 'date +%s%N; "$@" || exit 1; date +%s%N', "clock"]
        done = subprocess.run(self.in_front + clock + command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"peers: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
        lines = done.stdout.splitlines()
        return lines[1:-1], (int(lines[-1]) - int(lines[0])) * 1e-9

    def ours(self, *words):
        return [os.path.join(self.build, "bin", "kiln-peers"), *map(str, words)]

    def peer(self, library, *words):
        return [self.python, os.path.join(HERE, "peer.py"), library, *map(str, words)]


class Rows:
    """What was measured, in the order of the first round; `check` says which values must agree."""

    def __init__(self):
        self.rows, self.samples = {}, {}

    def add(self, row, library, unit, value, less_is_better=True):
        entry = self.rows.setdefault(row, {"row": row, "unit": unit, "less_is_better": less_is_better, "runs": {}})
        entry["runs"].setdefault(library, []).append(float(f"{value:.5g}"))

    def add_line(self, line, unit, scale, row=None, library=None):
        made = json.loads(line)
        row, library = row or made["row"], library or made["library"]
        if made["samples"]:
            self.check(row, library, made["samples"])
        self.add(row, library, unit, statistics.median(made["ns"]) * scale)

    def check(self, row, library, samples):
        """Sums of float32 in another order: gradients cancel, so the bound has the largest sample in it."""
        expected = self.samples.setdefault(row, samples)
        if len(expected) != len(samples):
            sys.exit(f"peers: {library} has {len(samples)} results of '{row}', ours {len(expected)}")
        for wanted, got in zip(expected, samples):
            largest = max(map(abs, wanted))
            for a, b in zip(wanted, got):
                if not abs(a - b) <= 1e-3 * abs(a) + 1e-4 * largest:
                    sys.exit(f"peers: {library} computed {b} in '{row}', we {a}")

    def finished(self):
        for row in self.rows.values():
            row["medians"] = {library: statistics.median(runs) for library, runs in row["runs"].items()}
        return list(self.rows.values())


# ---- pieces ----------------------------------------------------------------------------------------------------------


def first(run, rows):
    """In folders that are empty, and again in the same: from the function to its first result, and the whole process."""
    programs = [(name, run.peer(library, "first"), {}) for library, name in LIBRARIES.items()]
    programs.insert(0, ("Kiln", run.ours("first"), {"KILN_TIER": "1"}))
    programs.insert(1, ("Kiln without its base pack", run.ours("first"), {"KILN_BASE_PACK": "", "KILN_TIER": "0"}))
    for name, command, more in programs:
        with tempfile.TemporaryDirectory() as folder:
            for state in "nothing compiled before", "next process":
                lines, seconds = run.call(command, folder, **more)
                rows.add_line(lines[0], "ms", 1e-6, f"first call, {state}", name)
                rows.add(f"whole process, {state}", name, "ms", seconds * 1e3)


def lines_of(piece, unit, scale):
    def measure(run, rows):
        for command in [run.ours(piece, REPEATS[piece])] + [run.peer(p, piece, REPEATS[piece]) for p in LIBRARIES]:
            for line in run.call(command, run.folder, KILN_TIER="0")[0]:  # compiled in the first round
                rows.add_line(line, unit, scale)

    return measure


def model(run, rows):
    """The decoder of bench/model.c; that both choose the same tokens is tried with the same weights in a file."""
    with tempfile.TemporaryDirectory() as folder:
        for kind, bits in ("float32", 0), ("4 bits", 4):
            weights = os.path.join(folder, "model")
            lines, _ = run.call([run.python, os.path.join(HERE, "model_mlx.py"), weights, str(bits)], folder)
            theirs = json.loads(lines[-1])
            prompt = list(map(str, theirs["prompt"]))
            quantize = ["--quantize", str(bits)] if bits else []
            llama = os.path.join(run.build, "bin", "llama")
            tokens, _ = run.call([llama, weights, *prompt, "--count", str(len(theirs["tokens"])), *quantize], folder)
            if list(map(int, tokens)) != theirs["tokens"]:
                sys.exit(f"peers: MLX chose tokens {theirs['tokens']}, we {tokens}")
            for what, words in ("prefill", "prefill of 64"), ("decode", "decode at 64"):
                bench = [os.path.join(run.build, "bin", "kiln-bench"), "--json", "--repeats", "7", "--only", f"model, {kind}, {words}"]
                ours = json.loads("".join(run.call(bench, folder)[0]))[0]
                row = f"{kind}, {'prompt of 64' if what == 'prefill' else 'tokens after 64'}"
                rows.add(row, "Kiln", "tokens/s", ours["tokens"] * 1e9 / ours["ns"], False)
                rows.add(row, "MLX", "tokens/s", theirs[what], False)


def table_of(script, run, **more):
    """What a script of this folder prints: one round, one line for each row."""
    with tempfile.TemporaryDirectory() as folder:
        return run.call([os.path.join(HERE, script), run.build, "1"], folder, **more)[0]


def train(run, rows):
    losses = []
    for peers in "jax", "torch":
        for line in table_of("train.sh", run, KILN_TRAIN_PEERS=peers):
            name, *numbers = line.split()
            if name not in ("kiln", peers) or (name == "kiln" and peers != "jax"):
                continue
            cold, warm, step, loss = map(float, numbers)
            losses.append(loss)
            library = LIBRARIES.get(name, "Kiln")
            rows.add("to the first step, nothing compiled before", library, "ms", cold * 1e3)
            rows.add("to the first step, next process", library, "ms", warm * 1e3)
            rows.add("a further step", library, "ms", step)
    if max(losses) - min(losses) > 1e-3:
        sys.exit(f"peers: the losses differ after training: {losses}")


def llama(run, rows):
    for line in table_of("llama.sh", run):
        found = re.match(r"(\S.*?), (prefill of 64|decode after 64)\s+([\d.]+)\s+[\d.]+\s+([\d.]+)", line)
        if found:
            for library, value in ("Kiln", found[3]), ("llama.cpp", found[4]):
                rows.add(f"{found[1]}, {found[2]}", library, "tokens/s", float(value), False)


# ---- results ---------------------------------------------------------------------------------------------------------


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")


def versions(run):
    script = "import importlib.metadata as m, json; print(json.dumps({n: m.version(n) for n in ('jax', 'mlx', 'torch', 'numpy')}))"
    found = json.loads(subprocess.run([run.python, "-c", script], capture_output=True, text=True, check=True).stdout)
    library = subprocess.run([os.path.join(run.build, "bin", "kiln"), "--version"], capture_output=True, text=True).stdout.split()
    return {"Kiln": library[-1] if library else "?", "JAX": found["jax"], "MLX": found["mlx"], "PyTorch": found["torch"],
            "NumPy": found["numpy"]}


def measure(run, piece):
    functions = {"first": first, "warm": lines_of("warm", "us", 1e-3), "kernels": lines_of("kernels", "ms", 1e-6),
                 "gradients": lines_of("gradients", "ms", 1e-6), "model": model, "train": train, "llama": llama}
    rows, before, start = Rows(), os.getloadavg()[0], time.time()
    with tempfile.TemporaryDirectory() as run.folder:
        for number in range(run.rounds):
            print(f"peers: {piece}, round {number + 1} of {run.rounds}", file=sys.stderr)
            functions[piece](run, rows)
    result = {"piece": piece, "rounds": run.rounds, "threads": 2, "processor": processor(), "cores": os.cpu_count(),
              "load_before": round(before, 2), "load_after": round(os.getloadavg()[0], 2),
              "seconds": round(time.time() - start), "versions": versions(run), "rows": rows.finished()}
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, piece + ".json"), "w") as file:
        file.write(json.dumps(result, indent=1) + "\n")


def main():
    words = sys.argv[1:]
    rounds = 3
    if "--rounds" in words:
        at = words.index("--rounds")
        rounds = int(words[at + 1])
        del words[at : at + 2]
    if not words or rounds < 1 or not set(words[1:]) <= set(PIECES):
        sys.exit(__doc__)
    run = Run(words[0], rounds)
    subprocess.run([os.path.join(HERE, "install.sh"), run.build], check=True)
    for piece in words[1:] or PIECES[:-1]:
        measure(run, piece)
    subprocess.run([sys.executable, os.path.join(HERE, "table.py"), RESULTS, os.path.join(RESULTS, "table.md")], check=True)


main()

"""How fast and how large: a corpus of any number of pairs in parts, beside the same metrics on a corpus in memory.

Run: python bench/scale.py --items 1000000 [--processes 2] [--engine ray]   (needs the public ASSET files)

Pairs are made from ASSET's references (source, one reference, another as the output), rewritten a little so that no two
are alike: real words in real sentences, with numbers put in as mined text has them. The rate in memory is of as many
processes side by side, each with its own lists, before and after the run in parts: cores that are busy at once share
caches and memory, and one alone would be a faster core than any of the run has. Rates are given by CPU time as well as
by the clock, since the machine may be doing other work.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import plainly
from plainly.core.evalset import EvalSet
from plainly.scoring.evaluate import evaluate

_MIRROR = Path(__file__).resolve().parents[2] / "shared" / "mirror"
METRICS = ["sari", "bleu", "fkgl"]


def pairs(items: int, *, seed: int = 1) -> Iterator[dict[str, list[str]]]:
    """Columns of made pairs, some ten thousand at a time."""
    valid = plainly.load("asset/valid")
    n = len(valid)
    rng = np.random.default_rng(seed)
    for start in range(0, items, 16_384):
        count = min(16_384, items - start)
        which, one, other = (rng.integers(high, size=count) for high in (n, 10, 9))
        source, reference, output = [], [], []
        for place, item, a, b in zip(range(start, start + count), which, one, other, strict=True):
            row = valid.references[item]
            source.append(f"{valid.sources[item]} ( {place} )")
            reference.append(row[a])
            output.append(row[(a + 1 + b) % 10])
        yield {
            "id": [str(place) for place in range(start, start + count)],
            "source": source,
            "reference": reference,
            "output": output,
        }


def write(folder: Path, items: int, *, rows_a_file: int = 1_000_000) -> None:
    """The pairs as Parquet files of a million rows, in row groups of 131,072."""
    import pyarrow
    import pyarrow.parquet

    writer, written, number = None, 0, 0
    for columns in pairs(items):
        table = pyarrow.table(columns)
        if writer is None or written >= rows_a_file:
            if writer is not None:
                writer.close()
            writer = pyarrow.parquet.ParquetWriter(folder / f"pairs-{number:04d}.parquet", table.schema)
            written, number = 0, number + 1
        writer.write_table(table)
        written += len(columns["id"])
    if writer is not None:
        writer.close()


def side_by_side(items: int, processes: int) -> tuple[float, float]:
    """Items a second of all processes together, by CPU time (of one process) and by the clock."""
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        times = list(pool.map(in_memory, [items] * processes))
    return sum(cpu for cpu, _ in times) / processes, sum(wall for _, wall in times)


def in_memory(items: int) -> tuple[float, float]:
    """Items a second, by CPU time and by the clock, of ``evaluate`` on lists, warm."""
    for columns in pairs(16_384, seed=2):
        _measure(columns)
    cpu = wall = 0.0
    done = 0
    for columns in pairs(items, seed=3):
        start, began = time.process_time(), time.perf_counter()
        _measure(columns)
        cpu += time.process_time() - start
        wall += time.perf_counter() - began
        done += len(columns["id"])
    return done / cpu, done / wall


def _measure(columns: dict[str, list[str]]) -> None:
    evalset = EvalSet.of(columns["source"], references=[[text] for text in columns["reference"]])
    evaluate(evalset, {"output": columns["output"]}, METRICS, sampling=None)


class Memory(threading.Thread):
    """The most memory that a process and its children held at once: their proportional share of every page."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.most, self.going = pid, 0, True

    def run(self) -> None:
        while self.going:
            self.most = max(self.most, sum(_share(pid) for pid in _family(self.pid)))
            time.sleep(0.5)


def _family(pid: int) -> list[int]:
    pids = [pid]
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                pids += _family(int(child))
    except OSError:
        pass
    return pids


def _share(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--compare-with", type=int, default=200_000, metavar="N", help="items of the run in memory")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--no-intervals", action="store_true")
    parser.add_argument("--folder", help="where the pairs are, or will be written; default: a temporary folder")
    args = parser.parse_args()
    if "PLAINLY_MIRROR" not in os.environ and _MIRROR.is_dir():
        os.environ["PLAINLY_MIRROR"] = str(_MIRROR)
    folder = Path(args.folder or tempfile.mkdtemp(prefix="plainly-scale-"))
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob("*.parquet")):
        write(folder, args.items)
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    print(f"{args.items:,} pairs, {size / 1e9:.2f} GB of Parquet, metrics {', '.join(METRICS)}")

    before = side_by_side(args.compare_with, args.processes)
    command = [
        *(sys.executable, "-m", "plainly", "score", str(folder), "--engine", args.engine, "--json", "--restart"),
        *("--processes", str(args.processes), "-m", ",".join(METRICS)),
        *(["--no-intervals"] if args.no_intervals else []),
    ]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    memory = Memory(process.pid)
    memory.start()
    out = process.communicate()[0]
    wall = time.perf_counter() - start
    memory.going = False
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    result = json.loads(out)
    assert result["complete"]
    assert result["items"] == args.items
    again = side_by_side(args.compare_with, args.processes)
    for when, (by_cpu, by_clock) in (("before", before), ("after", again)):
        print(
            f"in memory, {args.processes} processes, {when}: {by_clock:,.0f} items a second ({by_cpu:,.0f} by CPU time)"
        )
    rate, clock_rate = max(before[0], again[0]), max(before[1], again[1])
    print(f"in parts, {args.processes} processes: {args.items / wall:,.0f} items a second, {wall:,.0f} s by the clock")
    print(f"  {args.items / wall / clock_rate:.0%} of the better rate in memory (wanted: at least 85 %)")
    print(f"  by CPU time {args.items / cpu:,.0f} items a second, {args.items / cpu / rate:.0%}, {cpu:,.0f} s of CPU")
    print(f"  peak memory of all processes {memory.most / 1e9:.2f} GB (wanted: under 1.5)")
    for spec, score in result["systems"][0]["scores"].items():
        low, high = score.get("low"), score.get("high")
        print(f"  {spec} {score['value']:.4f}" + (f" [{low:.4f}, {high:.4f}]" if low is not None else ""))
    if not args.folder:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

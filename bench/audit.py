"""How long the sweep of Tanprasert & Kauchak (2021) takes: 6 modifications × 10 levels × 100 trials, 1,077 items.

    python bench/audit.py [--processes 2] [--trials 100]

Scores one system with BLEU, SARI and FKGL and all their parts. The texts are made of the words of the demo, 14 or so a
sentence, with one reference, as in the paper; they are written anew for each run, and nothing is warmed up.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from plainly import data
from plainly.auditing.attacks import resolve_attacks
from plainly.auditing.sweep import sweep
from plainly.core.evalset import EvalSet
from plainly.core.progress import bar
from plainly.streaming.engines import engine

ITEMS, TARGET = 1077, 20.0


def texts(seed: int) -> tuple[EvalSet, tuple[str, ...]]:
    """Sources of about 23 words, and references and outputs of about 14 that share most of theirs."""
    rng = np.random.default_rng(seed)
    words = np.array(sorted({word for source in data.demo()[0].sources for word in source.rstrip(".").split()}))
    sources, references, outputs = [], [], []
    for _ in range(ITEMS):
        source = rng.choice(words, size=max(int(rng.normal(22, 8)), 4))
        size = max(len(source) * 3 // 5, 2)
        subsets = [source[np.sort(rng.choice(len(source), size=size, replace=False))] for _ in ("reference", "output")]
        for text in subsets:
            text[rng.integers(len(text))] = rng.choice(words)
        sources.append(" ".join([*source, "."]))
        references.append([" ".join([*subsets[0], "."])])
        outputs.append(" ".join([*subsets[1], "."]))
    return EvalSet.of(sources, references=references), tuple(outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--trials", type=int, default=100)
    args = parser.parse_args()
    evalset, outputs = texts(seed=int(time.time()))
    began, used = time.perf_counter(), _processor_time()
    swept = sweep(
        evalset,
        {"system": outputs},
        ["bleu", "sari", "fkgl"],
        resolve_attacks("paper", evalset),
        trials=args.trials,
        engine=engine("local", processes=args.processes),
        progress=bar,
    )
    took, used = time.perf_counter() - began, _processor_time() - used
    numbers = sum(curve.mean[1:].size for curve in swept.curves.values())
    print(
        f"{ITEMS} items, 6 modifications, 10 levels, {args.trials} trials, {args.processes} processes: {took:.1f} s "
        f"(asked for: under {TARGET:.0f} s), {used:.1f} s of processor time, {numbers} means"
    )


def _processor_time() -> float:
    """Of this process and of the children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


if __name__ == "__main__":
    main()

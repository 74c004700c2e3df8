"""How long documents take: time and memory of the document metrics on more and more documents of 2,000 words.

    python bench/documents.py                        # 250, 500 and 1,000 documents, metrics that need no model
    python bench/documents.py cefr,doc-sle 20 40 80  # other metrics and sizes

Each size runs in a process of its own, so that its memory is its own. The documents are put together from the demo.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

from plainly import data
from plainly.core.evalset import EvalSet
from plainly.scoring.evaluate import evaluate

WORDS = 2_000
METRICS = "sari,sari(variant=d-sari),fkgl,coverage,coherence"
SIZES = (250, 500, 1_000)


def documents(count: int) -> tuple[EvalSet, list[str]]:
    """Documents of 2,000 words, and what an editor made of them: sentences dropped here and there."""
    demo, outputs = data.demo()
    rng = np.random.default_rng(0)
    sources, references, written = [], [], []
    for number in range(count):
        items: list[int] = []
        while sum(len(demo.sources[item].split()) for item in items) < WORDS:
            items.append(int(rng.integers(len(demo))))
        rest = [item for item in items if rng.random() > 0.2]
        sources.append(" ".join(f"{demo.sources[item]}" for item in items) + f" This was number {number}.")
        references.append([" ".join(demo.references[item][0] for item in rest)])
        written.append(" ".join(outputs["editor"][item] for item in rest))
    return EvalSet.of(sources, references=references), written


def measure(metrics: str, count: int) -> dict[str, float]:
    """Seconds and megabytes of one run."""
    from plainly.core.registry import split_specs

    evalset, written = documents(count)
    started = time.perf_counter()
    evaluate(evalset, {"editor": written}, split_specs(metrics), sampling=None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "documents": count,
        "seconds": time.perf_counter() - started,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "megabytes": peak,
    }


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
        return
    metrics, sizes = (sys.argv[1], map(int, sys.argv[2:])) if len(sys.argv) > 2 else (METRICS, SIZES)
    for size in sizes:
        command = [sys.executable, __file__, "--one", metrics, str(size)]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(", ".join(f"{name} {value:,.0f}" for name, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()

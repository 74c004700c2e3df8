"""How fast comparing is, given the measured rows: as a ratio against sacrebleu's paired bootstrap, and in seconds.

Run: python bench/compare.py   (needs the public ASSET files: PLAINLY_MIRROR, or a network for the first run)

sacrebleu is given its sentence statistics too, so that neither side is timed on counting n-grams: its PairedTest gets a
BLEU that has counted before. Both make 1,000 draws from the same seed and give p-values and every system's interval.
plainly makes its draws once for all systems and metrics, so the first system costs more than the others; the figures
show both. Every figure is the best of several runs after a warm-up.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from plainly import data
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.scoring.compare import compare
from plainly.scoring.evaluate import Evaluation, evaluate
from plainly.stats import resample
from plainly.stats.paired import bootstrap_p
from plainly.stats.resample import Resampler

_MIRROR = Path(__file__).resolve().parents[2] / "shared" / "mirror"
SYSTEMS = (
    "ACCESS", "Dress", "Dress-Ls", "EditNTS", "Hybrid", "NTS-SARI", "PBMT-R", "SBMT-SARI", "UNTS", "DMASS-DCSS",
)  # fmt: skip


def best(action: Callable[[], object], *, runs: int) -> float:
    """Seconds of the fastest of several runs, after one that does not count."""
    action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def sacrebleu_bootstrap(references: list[list[str]], texts: dict[str, list[str]]) -> Callable[[], list[float]]:
    """sacrebleu's paired test of every system against the first, on statistics that are there already."""
    bleu = BLEU(references=references)
    statistics = {id(lines): bleu._extract_corpus_statistics(lines, None) for lines in texts.values()}
    bleu._extract_corpus_statistics = lambda lines, _: statistics[id(lines)]  # type: ignore[method-assign]

    def run() -> list[float]:
        _, results = PairedTest(list(texts.items()), {"bleu": bleu}, references=None, test_type="bs", n_samples=1000)()
        return [result.p_value for result in results["BLEU"][1:]]

    return run


def bootstrap(rows: Evaluation, evalset: EvalSet, *, keep: bool) -> list[float]:
    """The p-values of every system against the first; ``keep`` says that the draws of the run before may be used."""
    if not keep:
        resample._kept_weights.cache_clear()
    names = list(rows)
    metric = rows[names[0]]["bleu"].metric
    resampler = Resampler(n=len(evalset), resamples=1000, seed=12345)
    draws = metric.score(np.stack(resampler.totals([rows[name]["bleu"].rows for name in names])))[..., 0]
    values = [float(rows[name]["bleu"]) for name in names]
    np.quantile(draws, [0.025, 0.975], axis=1)
    return [bootstrap_p(draws[at] - draws[0], values[at] - values[0], size=values[at]) for at in range(1, len(names))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="how many runs the best is taken of (5)")
    args = parser.parse_args()
    if _MIRROR.is_dir():
        os.environ.setdefault("PLAINLY_MIRROR", str(_MIRROR))

    evalset = data.load("asset/test")
    outputs = {name: data.outputs("asset/test", name) for name in SYSTEMS}
    references = [list(column) for column in zip(*evalset.references, strict=True)]

    print("paired bootstrap, BLEU alone, 1,000 draws, given the rows (ASSET test)")
    for label, names, shared in (
        ("one system against a baseline", SYSTEMS[1:3], False),
        ("the same, draws already made", SYSTEMS[1:3], True),
        ("nine systems against a baseline", SYSTEMS, False),
    ):
        texts = {name: list(outputs[name]) for name in names}
        rows = evaluate(evalset, texts, ["bleu"], sampling=None)
        theirs = sacrebleu_bootstrap(references, texts)
        slow = best(theirs, runs=args.runs)
        fast = best(lambda rows=rows, keep=shared: bootstrap(rows, evalset, keep=keep), runs=args.runs)
        expected, computed = theirs(), bootstrap(rows, evalset, keep=shared)
        agree = "the same p-values" if expected == computed else f"p-values {expected} and {computed}"
        times = f"sacrebleu {1000 * slow:7.1f} ms  plainly {1000 * fast:6.1f} ms  {slow / fast:5.1f} ×"
        print(f"  {label:32}  {times}  {agree}")
    print("  (at least 30 × is asked for)")

    specs = ["sari", "bleu", "fkgl"]
    everything = evaluate(evalset, outputs, specs, sampling=None)
    drawn = best(
        lambda: compare(everything, tests=["paired-bootstrap"], sampling=Sampling(resamples=10_000)),
        runs=max(1, args.runs // 2),
    )
    both = best(lambda: compare(everything), runs=max(1, args.runs // 2))
    print("10 systems, SARI, BLEU and FKGL, all 45 pairs, given the rows")
    print(f"  10,000 bootstrap draws                               {drawn:6.2f} s")
    print(f"  1,000 bootstrap draws and 10,000 randomisations      {both:6.2f} s")


if __name__ == "__main__":
    main()

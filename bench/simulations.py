"""Do intervals cover, do tests err and find as often as they say? Simulations with a known truth, as a Markdown table.

    python bench/simulations.py                 # a few minutes on one core
    python bench/simulations.py --times 300     # quicker and rougher

Items are skewed and go together between systems, as scores of sentences do; documents have a level of their own; the
references' part draws the references of ASSET's items (PLAINLY_MIRROR), whose ten writers are the population.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import simulated_ratings as ratings

import plainly
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.core.sampling import METHODS, Sampling
from plainly.scoring.compare import compare
from plainly.scoring.evaluate import from_rows
from plainly.scoring.references import draw_references, with_intervals
from plainly.stats.resample import Resampler, interval

Floats = np.ndarray
Row = tuple[str, str, str, float, float]
# Items, and in how many documents they are.
SETTINGS = [(20, None), (60, None), (100, None), (359, None), (360, 5), (360, 12), (360, 30), (360, 60)]


@dataclass(frozen=True)
class Mean(Metric):
    """A metric that is a plain mean of numbers that are written out as texts."""

    name = "mean"
    outputs = ("mean",)

    def measure(self, evalset: EvalSet, outputs: list[str]) -> Floats:
        return np.stack([np.array(outputs, dtype=float), np.ones(len(outputs))], axis=1)

    def score(self, totals: Floats) -> Floats:
        return np.asarray(totals[..., :1] / totals[..., 1:])


def experiment(
    rng: np.random.Generator, *, systems: int, n: int, groups: int | None, effect: float = 0.0, trials: int = 400
) -> plainly.scoring.comparisons.Comparisons:
    """One study: systems that differ by ``effect`` from the first, on items or on documents of items."""
    labels = None if groups is None else np.sort(rng.integers(groups, size=n))
    shared = rng.gamma(2.0, size=n)
    values = {}
    for system in range(systems):
        own = rng.exponential(size=n)
        if labels is not None:
            own = own + rng.normal(scale=1.0, size=groups)[labels]
        values[f"s{system}"] = shared + own + (effect if system else 0.0)
    evalset = EvalSet.of(items=n, groups=None if labels is None else [f"g{label}" for label in labels])
    rows = {name: {"mean": np.stack([x, np.ones(n)], axis=1)} for name, x in values.items()}
    sampling = Sampling(seed=int(rng.integers(2**31)))
    evaluation = from_rows(evalset, None, {"mean": Mean()}, rows, sampling)
    return compare(evaluation, trials=trials, baseline="s0")


def scores(times: int) -> Iterator[Row]:
    """Coverage of the interval of one system's score, over items and over documents, by both kinds of interval."""
    for n, groups in ((5, None), (10, None), *SETTINGS[:5], (360, 8), *SETTINGS[5:]):
        rng = np.random.default_rng(n + (groups or 0))
        covered = Counter[str]()
        for study in range(times):
            labels = None if groups is None else [f"g{label}" for label in np.sort(rng.integers(groups, size=n))]
            values = rng.gamma(2.0, size=n)
            if labels is not None:
                level = dict(zip(sorted(set(labels)), rng.normal(size=len(set(labels))), strict=True))
                values = values + [level[label] for label in labels]
            rows = np.stack([values, np.ones(n)], axis=1)
            draws = Resampler(n, 1000, study, None if labels is None else tuple(labels))
            (totals,) = draws.totals([rows])
            for method in METHODS:
                (estimate,) = interval(draws.units(rows), Mean().score, totals, sampling=Sampling(method=method))
                covered[method] += estimate.low <= 2.0 <= estimate.high
        for method in METHODS:
            yield f"95 % interval of a score, {method}", _where(n, groups), "coverage", 0.95, covered[method] / times


def comparisons(times: int) -> Iterator[Row]:
    """Coverage of the difference, and error without a difference."""
    for n, groups in SETTINGS:
        rng = np.random.default_rng(n + (groups or 0))
        covered = errs = bootstrap_errs = 0
        for _ in range(times):
            result = experiment(rng, systems=2, n=n, groups=groups)
            pair = result.deciding_comparisons("mean")[0]
            covered += pair.low <= 0 <= pair.high
            errs += pair.significant
            bootstrap_errs += result.comparisons[0].p_two_sided <= 0.05
        yield "95 % interval of a difference", _where(n, groups), "coverage", 0.95, covered / times
        yield "approximate randomisation", _where(n, groups), "error, no difference", 0.05, errs / times
        yield "paired bootstrap, two-sided", _where(n, groups), "error, no difference", 0.05, bootstrap_errs / times


def power(times: int) -> Iterator[Row]:
    """Power at the difference that is called detectable."""
    for n, groups in SETTINGS[2:4] + SETTINGS[5:]:
        rng = np.random.default_rng(n + (groups or 0))
        studies = (experiment(rng, systems=2, n=n, groups=groups) for _ in range(max(times // 4, 50)))
        sizes = [study.deciding_comparisons("mean")[0].smallest_detectable for study in studies]
        detectable = float(np.mean(sizes))
        for systems in (2, 7):
            scale = 1.0
            if systems > 2:  # the correction asks for more: take the size that such a study prints
                study = experiment(rng, systems=systems, n=n, groups=groups)
                scale = study.deciding_comparisons("mean")[0].smallest_detectable
                scale /= max(detectable, 1e-12)
            hits = total = 0
            for _ in range(max(times // 4, 50)):
                result = experiment(rng, systems=systems, n=n, groups=groups, effect=detectable * scale, trials=1000)
                for pair in result.deciding_comparisons("mean"):
                    hits += pair.significant and pair.difference > 0
                    total += 1
            what = f"detectable, {systems - 1} comparison{'s' * (systems > 2)}"
            yield what, _where(n, groups), "power", 0.80, hits / total


def _where(n: int, groups: int | None) -> str:
    return f"{n} items" if groups is None else f"{groups} groups of {n} items"


def references(times: int) -> Iterator[Row]:
    """Coverage of intervals over references: the truth is the mean score over draws of as many of ten writers."""
    asset, outputs = plainly.load("asset/test"), plainly.systems("asset/test")["ACCESS"]
    items = range(0, len(asset), 5)
    sources, texts = [asset.sources[item] for item in items], [outputs[item] for item in items]
    for spec in ("sari", "bleu"):
        for k in (4, 5, 7):
            rng = np.random.default_rng(k)

            def pick(rng: np.random.Generator = rng, k: int = k) -> EvalSet:
                references = [[asset.references[item][at] for at in rng.permutation(10)[:k]] for item in items]
                return EvalSet.of(sources, references=references)

            def scored(evalset: EvalSet, spec: str = spec, **options: object) -> plainly.scoring.scores.Evaluation:
                return plainly.scoring.evaluate.evaluate(evalset, {"A": texts}, [spec], **options)  # type: ignore[arg-type]

            values = [float(scored(pick(), sampling=None)["A"][spec]) for _ in range(200)]
            truth, covered, widths = float(np.mean(values)), 0, []
            for seed in range(max(times // 5, 40)):
                evaluation = scored(pick(), sampling=Sampling(resamples=300, seed=seed))
                drawn = draw_references(evaluation, over="references")
                estimate = with_intervals(evaluation, drawn, over="references")["A"][spec].value
                covered += estimate.low <= truth <= estimate.high
                widths.append(estimate.high - estimate.low)
            # Drawn without replacement from ten, k references vary less than k of endlessly many by this factor.
            ideal = 2 * 1.96 * float(np.std(values)) / np.sqrt(1 - k / 10)
            yield (
                f"interval over references, {spec}",
                f"{k} references",
                "coverage",
                0.95,
                covered / max(times // 5, 40),
            )
            yield (
                f"interval over references, {spec}",
                f"{k} references",
                "width, of what it should be",
                1.0,
                float(np.mean(widths) / ideal),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=2000, help="experiments for each row (2000)")
    parts: dict[str, Callable[[int], Iterator[Row]]] = {
        "scores": scores,
        "comparisons": comparisons,
        "power": power,
        "references": references,
        "by_item": ratings.by_item,
        "by_system": ratings.by_system,
        "between_metrics": ratings.between_metrics,
        "agreements": ratings.agreements,
        "results": ratings.results,
        "preferences": ratings.preferences,
        "rates": ratings.rates,
        "plans": ratings.plans,
    }
    parser.add_argument("--only", choices=tuple(parts))
    parser.add_argument("--page", type=Path, help="write the tables into this page too: docs/statistics.md")
    args = parser.parse_args()
    for name, part in parts.items():
        if args.only in (None, name):
            lines = ["| what | where | | printed | found |", "|---|---|---|--:|--:|"]
            print(*lines, sep="\n")
            for what, where, measure, printed, observed in part(args.times):
                lines.append(f"| {what} | {where} | {measure} | {printed:.3f} | {observed:.3f} |")
                print(lines[-1], flush=True)
            if args.page is not None:  # the table of a part comes after its mark, up to an empty line
                start, _, rest = args.page.read_text().partition(f"<!-- {name} -->\n")
                args.page.write_text(
                    f"{start}<!-- {name} -->\n" + "\n".join(lines) + "\n\n" + rest.partition("\n\n")[2]
                )


if __name__ == "__main__":
    main()

"""How well facts are checked: planted changes, references left alone, people's annotations, and how fast.

Run: python bench/facts.py planted|references|people|speed [--spec 'facts(…)']   (public files, see docs/data.md)

Planted: the audit's negate, swap-numbers, swap-names, hallucinate and drop-split on ASSET's references, where an attack
records what it changed; found means: a finding of that kind that overlaps with the change. People: the annotations of
Devaraj et al. 2022 (Wikipedia part; severity 1 and 2 against 0), which were used for testing only.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PLAINLY_SCORE_CACHE", "off")  # What is remembered takes no time.

import numpy as np

import plainly
from plainly.auditing.attacks import ATTACKS, SystemOutputs
from plainly.core.evalset import EvalSet
from plainly.factcheck.pairs import Facts
from plainly.text.lexicon import tokenise

RULES = Facts(model=None)
KINDS = {
    "negate": {"polarity"},
    "swap-numbers": {"number", "quantity", "date", "unit"},
    "swap-names": {"name"},
    "hallucinate": {"claim", "number", "quantity", "date", "name", "polarity"},
}
_PEOPLE = "AshOlogn/Evaluating-Factuality-in-Text-Simplification"


def planted(name: str = "asset/test") -> None:
    """The share of planted changes that are found, of two references per item."""
    evalset = plainly.load(name)
    totals: dict[str, list[bool]] = {}
    for turn in (0, 5):
        outputs = [row[(item + turn) % len(row)] for item, row in enumerate(evalset.references)]
        system = SystemOutputs(EvalSet.of(evalset.sources), tuple(outputs))
        for attack in (*KINDS, "drop-split"):
            rewritten = ATTACKS[attack].records(system, np.random.default_rng(7 + turn // 5))
            applied = [(item, text) for item, text in enumerate(rewritten) if text.applied]
            checked = RULES.check([evalset.sources[i] for i, _ in applied], [text.text for _, text in applied])
            for (_, text), pair in zip(applied, checked, strict=True):
                if attack == "drop-split":
                    detected = any(finding.effect == "lost" for finding in pair.findings)
                else:
                    detected = any(
                        finding.harms and finding.kind in KINDS[attack]
                        and (attack == "negate" or _overlap(finding.output, text.spans))
                        for finding in pair.findings
                    )  # fmt: skip
                totals.setdefault(attack, []).append(detected)
    for attack, detections in totals.items():
        print(f"{attack:14} {len(detections):5} planted, {np.mean(detections):.3f} found with the right kind")


def _overlap(spans: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> bool:
    return any(start <= b + 1 and a <= end + 1 for start, end in spans for a, b in others)


def references() -> None:
    """How many references are flagged; which of these rightly, a person has to say (docs/facts-in-references.md)."""
    for name in ("asset/test", "turkcorpus/test"):
        evalset = plainly.load(name)
        pairs = [
            (source, text) for source, row in zip(evalset.sources, evalset.references, strict=True) for text in row
        ]
        checked = RULES.check([source for source, _ in pairs], [text for _, text in pairs])
        flagged = sum(not pair.faithful for pair in checked)
        print(f"{name}: {flagged} of {len(pairs)} references flagged ({flagged / len(pairs):.1%})")


def people(specs: Sequence[str]) -> None:
    """AUROC with 95 % intervals (bootstrap over pairs) for each kind of error."""
    for kind in ("substitution", "insertion", "deletion"):
        sources, outputs, severity = _annotated(kind)
        wrong = np.array(severity) > 0
        print(f"{kind}: {len(wrong)} pairs, {wrong.sum()} with it")
        for name, values in _measures(sources, outputs, specs).items():
            value, low, high = _auroc(wrong, values)
            print(f"  {name:28} {value:.3f} [{low:.3f}, {high:.3f}]")


def _annotated(kind: str) -> tuple[list[str], list[str], list[int]]:
    folder = next((Path(os.environ["PLAINLY_MIRROR"]) / "raw.githubusercontent.com" / _PEOPLE).iterdir())
    rows: list[tuple[str, str, int]] = []
    for path in sorted((folder / "data" / "annotations").rglob(f"*_{kind}.json")):
        rated = json.loads(path.read_text(encoding="utf-8"))
        rows += [
            (row["Complex"], row["Simplified"], row[kind.title()]) for row in rated if row[kind.title()] in (0, 1, 2)
        ]
    sources, outputs, severity = zip(*rows, strict=True)
    return list(sources), list(outputs), list(severity)


def _measures(sources: Sequence[str], outputs: Sequence[str], specs: Sequence[str]) -> dict[str, np.ndarray]:
    """Each measure so that more of it says that something is wrong."""
    bags = [[set(tokenise(text.lower()).split()) for text in side] for side in (sources, outputs)]
    new = np.array([len(b - a) / max(len(b), 1) for a, b in zip(*bags, strict=True)])
    gone = np.array([len(a - b) / max(len(a), 1) for a, b in zip(*bags, strict=True)])
    measures = {"token overlap: new": new, "token overlap: gone": gone}
    for spec in specs:
        metric = plainly.metric(spec)
        scores = metric.score(metric.measure(EvalSet.of(list(sources)), list(outputs)))
        for place, output in enumerate(metric.outputs):
            good = metric.better == "higher" and output not in ("risk", "changed", "flipped", "added", "lost")
            measures[f"{spec}: {output}"] = np.nan_to_num(-scores[:, place] if good else scores[:, place])
    return measures


def _auroc(wrong: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(1000):
        drawn = rng.integers(len(wrong), size=len(wrong))
        if 0 < wrong[drawn].sum() < len(wrong):
            draws.append(_area(wrong[drawn], values[drawn]))
    return (_area(wrong, values), *np.quantile(draws, [0.025, 0.975]))


def _area(wrong: np.ndarray, values: np.ndarray) -> float:
    from scipy.stats import rankdata

    ranks = rankdata(values)
    positives = wrong.sum()
    return float((ranks[wrong].sum() - positives * (positives + 1) / 2) / (positives * (len(wrong) - positives)))


def speed(specs: Sequence[str]) -> None:
    """Pairs a second by the clock and by processor time, on ASSET's references, in one process."""
    evalset = plainly.load("asset/test")
    for spec in specs:
        metric = plainly.metric(spec)
        metric.measure(evalset[:5], [row[0] for row in evalset.references[:5]])
        best = [0.0, 0.0]
        for turn in range(3):
            outputs = [row[turn] for row in evalset.references]
            clock, processor = time.perf_counter(), sum(os.times()[:4])
            metric.measure(evalset, outputs)
            times = time.perf_counter() - clock, sum(os.times()[:4]) - processor
            best = [max(old, len(outputs) / new) for old, new in zip(best, times, strict=True)]
        print(f"{spec}: {best[0]:,.0f} pairs/s by the clock, {best[1]:,.0f} a processor second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("planted", "references", "people", "speed"))
    parser.add_argument("--spec", action="append", help="metrics to measure (facts)")
    args = parser.parse_args()
    specs = args.spec or ["facts"]
    actions: dict[str, Callable[[], None]] = {
        "planted": planted,
        "references": references,
        "people": lambda: people(specs),
        "speed": lambda: speed(specs),
    }
    actions[args.what]()


if __name__ == "__main__":
    main()

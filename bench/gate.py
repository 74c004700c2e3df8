"""How often the gate stops what it should, and what it should not: the tables of docs/gate.md.

    python bench/gate.py [--preset plain] [--references 3] [--write]

Every attack of the audit on every reference that people wrote for ASSET's test set: the share of the attacked outputs
that is flagged, and whether a run with 5 % of them is stopped. Beside them the untouched references: the share that is
flagged, and whether a run passes. Then the error rate of the rule on a baseline, by simulation, and how long it takes.
``--write`` puts the tables into docs/gate.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np

import plainly
from plainly.auditing.attacks import ATTACKS, SystemOutputs
from plainly.checks.decisions import decide_margin
from plainly.checks.gate import gate
from plainly.checks.rules import Margin, Rules, load_preset
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.scoring.scores import Evaluation, Scores, Signature

PLANTED = 0.05
PAGE = Path(__file__).parent.parent / "docs" / "gate.md"
# Attacks that leave a text as good as it was, or better: nothing to stop.
HARMLESS = ("oracle", "commoner-synonyms", "double-spaces", "lowercase")


def attacked(rules: Rules, references: int, *, seed: int = 0) -> list[tuple[str, str, str, str, str]]:
    """A row for each attack: what it does, how many outputs it changed, the share flagged, runs stopped."""
    evalset = plainly.load("asset/test")
    bare = EvalSet.of(evalset.sources, ids=evalset.ids)
    rng = np.random.default_rng(seed)
    rows = []
    sound = [tuple(texts[place] for texts in evalset.references) for place in range(references)]
    clean = [_flagged(bare, outputs, rules) for outputs in sound]
    flags, stops = np.concatenate([flags for flags, _ in clean]), [stopped for _, stopped in clean]
    rows.append(("(untouched)", "what people wrote", str(len(flags)), _share(flags), f"{sum(stops)} of {references}"))
    for name, attack in sorted(ATTACKS.items()):
        changed, stopped = [], 0
        for outputs in sound:
            texts = attack.apply(SystemOutputs(evalset, outputs), rng)
            applied = np.array([text != output for text, output in zip(texts, outputs, strict=True)])
            if not applied.any():
                continue
            changed.append(_flagged(bare, texts, rules)[0][applied])
            count = min(round(PLANTED * len(bare)), int(applied.sum()))
            drawn = rng.choice(np.flatnonzero(applied), size=count, replace=False)
            planted = list(outputs)
            for item in drawn:
                planted[item] = texts[item]
            stopped += _flagged(bare, planted, rules)[1]
        flags = np.concatenate(changed) if changed else np.zeros(0)
        what = f"{attack.what}{' (harmless)' if name in HARMLESS else ''}"
        rows.append((name, what, str(len(flags)), _share(flags), f"{stopped} of {references}"))
    return rows


def _flagged(evalset: EvalSet, outputs: Any, rules: Rules) -> tuple[Any, bool]:
    outcome = gate(evalset=evalset, outputs={"A": list(outputs)}, rules=rules)
    flags = np.zeros(len(outputs))
    flags[[finding.place for finding in outcome.findings]] = 1
    return flags, not outcome.passed


def _share(flags: Any) -> str:
    return f"{100 * flags.mean():.1f} %" if len(flags) else "–"


class Mean:
    """A metric whose rows are given: their mean."""

    name, needs, better, outputs = "mean", frozenset(), "higher", ("mean",)

    def score(self, totals: Any) -> Any:
        return totals[..., :1] / totals[..., 1:]


def simulated(*, runs: int = 20_000, seed: int = 0) -> list[tuple[str, str, str]]:
    """How often a system that is worse by exactly the margin passes: 5 % is promised."""
    rng = np.random.default_rng(seed)
    rows = []
    draws = {
        "normal": lambda size: rng.normal(size=size),
        "skewed (exponential)": lambda size: rng.exponential(size=size) - 1,
        "one item in ten differs": lambda size: np.where(rng.random(size) < 0.1, rng.normal(size=size), 0.0),
    }
    signature = Signature(spec="mean", data="")
    for name, draw in draws.items():
        for n in (50, 100, 359):
            passed = 0
            for _ in range(runs):
                values = {"base": np.zeros(n), "worse": draw(n) - 0.3}
                rows_of = {system: np.column_stack([numbers, np.ones(n)]) for system, numbers in values.items()}
                systems = {
                    system: {"mean": Scores.of_items(Mean(), system, table, signature)}  # type: ignore[arg-type]
                    for system, table in rows_of.items()
                }
                evaluation = Evaluation(EvalSet.of(items=n), systems)
                decision = decide_margin(Margin("", "base", "mean", 0.3), "worse", "base", evaluation, Sampling())
                passed += decision.outcome == "holds"
            rows.append((name, str(n), f"{100 * passed / runs:.1f} %"))
    return rows


def speed() -> list[tuple[str, str]]:
    """10,000 outputs, and one pair at a time."""
    evalset = plainly.load("asset/test")
    sources = [text for _ in range(28) for text in evalset.sources][:10_000]
    outputs = [row[place % len(row)] for place in range(28) for row in evalset.references][:10_000]
    quick = tuple(limit for limit in load_preset("plain").items if limit.spec == "compression")
    rules = dataclasses.replace(load_preset("plain"), items=quick)
    start = time.perf_counter()
    gate(sources=sources, outputs=outputs, rules=rules)
    whole = time.perf_counter() - start
    pairs = list(zip(evalset.sources, (row[0] for row in evalset.references), strict=True))
    times = {}
    for name, preset in (("without learned metrics", rules), ("preset plain", load_preset("plain"))):
        plainly.check(pairs[0][1], source=pairs[0][0], rules=preset)
        start = time.perf_counter()
        for pair in pairs[:100]:
            plainly.check(pair[1], source=pair[0], rules=preset)
        times[name] = (time.perf_counter() - start) / 100
    timed = [(f"check, warm, {name}", f"{1000 * seconds:.1f} ms") for name, seconds in times.items()]
    return [("gate of 10,000 outputs without learned metrics", f"{whole:.1f} s"), *timed]


def markdown(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="plain")
    parser.add_argument("--references", type=int, default=3, help="how many of the ten references of ASSET")
    parser.add_argument("--runs", type=int, default=2000, help="simulated experiments")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/gate.md")
    args = parser.parse_args()
    header = ("attack", "what it does", "outputs", "flagged", "runs stopped")
    tables = {
        "attacks": markdown(header, attacked(load_preset(args.preset), args.references)),
        "baseline": markdown(("differences between items", "items", "passes"), simulated(runs=args.runs)),
        "speed": markdown(("what", "time"), speed()),
    }
    for name, table in tables.items():
        print(f"\n{name}\n\n{table}")
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        for name, table in tables.items():
            marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
            before, _, rest = page.partition(marks[0])
            page = f"{before}{marks[0]}\n{table}\n{marks[1]}{rest.partition(marks[1])[2]}"
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

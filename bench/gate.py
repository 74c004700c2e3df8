"""How often the gate blocks what it should, and what it should not: the tables of docs/gate.md.

    python bench/gate.py letters|others|latest [--part "tuning"] [--preset plain] [--write]
    python bench/gate.py attacks [--references 3] [--preset plain] [--write]
    python bench/gate.py baseline [--runs 2000] [--write]
    python bench/gate.py speed [--write]

``letters``: the held-out pairs of letters.jsonl, by language and group; ``others``: those of letters-2.jsonl and
letters-3.jsonl; ``latest``: letters-4.jsonl. Only counts are printed. ``attacks``: every attack of the audit on
references that people wrote for ASSET's test set, the share of the attacked outputs that is blocked or to be reviewed,
and whether a run with 5 % of them is stopped; beside them the untouched references. ``baseline``: the error rate of the
rule on a baseline, by simulation. ``speed``: how long ``check`` takes, warm and without the score cache, the first call
of a process, and its memory. ``--write`` puts the table into docs/gate.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from letters import GROUPS, LANGUAGES, PARTS, read_part

import plainly
from plainly.auditing.attacks import ATTACKS, SystemOutputs
from plainly.checks.decisions import decide_margin
from plainly.checks.gate import gate
from plainly.checks.rules import Margin, Rules, load_preset
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.factcheck.reading import OUTCOMES
from plainly.scoring.scores import Evaluation, Scores, Signature

PLANTED = 0.05
PAGE = Path(__file__).parent.parent / "docs" / "gate.md"
VALUES = ("amount", "period", "date", "contact")  # groups of letters whose facts are values
# Attacks that leave a text as good as it was, or better: nothing to stop.
HARMLESS = ("oracle", "commoner-synonyms", "double-spaces", "lowercase")


Row = tuple[str, ...]


def letters(preset: str, *parts: str) -> list[Row]:
    """A row for each language and group: how many wrong and sound texts are blocked, to be reviewed, and pass."""
    counts: Counter[tuple[str, str, bool, str]] = Counter()
    for pair in read_part(*parts):
        outcome = plainly.check(pair["output"], source=pair["source"], preset=preset).outcome
        for group in (pair["group"], "values" if pair["group"] in VALUES else "statements", "all"):
            counts[pair["language"], group, pair["wrong"], outcome] += 1
    rows = []
    for language in LANGUAGES:
        for group in (*GROUPS, "values", "statements", "all"):
            cells: list[str] = []
            for wrong in (True, False):
                numbers = [counts[language, group, wrong, outcome] for outcome in OUTCOMES]
                cells += [str(sum(numbers)), *(f"{number} ({number / max(1, sum(numbers)):.0%})" for number in numbers)]
            rows.append((language, group, *cells))
    return rows


def attacked(rules: Rules, references: int, *, seed: int = 0) -> list[Row]:
    """A row for each attack: what it does, how many outputs it changed, shares blocked and reviewed, runs stopped."""
    evalset = plainly.load("asset/test")
    bare = EvalSet.of(evalset.sources, ids=evalset.ids)
    rng = np.random.default_rng(seed)
    rows = []
    sound = [tuple(texts[place] for texts in evalset.references) for place in range(references)]
    clean = [_decided(bare, outputs, rules) for outputs in sound]
    outcomes, stops = np.concatenate([of for of, _ in clean]), [stopped for _, stopped in clean]
    total = f"{sum(stops)} of {references}"
    rows.append(("(untouched)", "what people wrote", str(len(outcomes)), *_shares(outcomes), total))
    for name, attack in sorted(ATTACKS.items()):
        changed, stopped = [], 0
        for outputs in sound:
            texts = attack.apply(SystemOutputs(evalset, outputs), rng)
            applied = np.array([text != output for text, output in zip(texts, outputs, strict=True)])
            if not applied.any():
                continue
            changed.append(_decided(bare, texts, rules)[0][applied])
            count = min(round(PLANTED * len(bare)), int(applied.sum()))
            drawn = rng.choice(np.flatnonzero(applied), size=count, replace=False)
            planted = list(outputs)
            for item in drawn:
                planted[item] = texts[item]
            stopped += _decided(bare, planted, rules)[1]
        outcomes = np.concatenate(changed) if changed else np.zeros(0, dtype=object)
        what = f"{attack.what}{' (harmless)' if name in HARMLESS else ''}"
        rows.append((name, what, str(len(outcomes)), *_shares(outcomes), f"{stopped} of {references}"))
    return rows


def _decided(evalset: EvalSet, outputs: Any, rules: Rules) -> tuple[Any, bool]:
    result = gate(evalset=evalset, outputs={"A": list(outputs)}, rules=rules)
    return np.array(list(result.item_outcomes("A").values()), dtype=object), not result.passed


def _shares(outcomes: Any) -> tuple[str, str]:
    if not len(outcomes):
        return "–", "–"
    blocked, reviewed = (f"{100 * (outcomes == outcome).mean():.1f} %" for outcome in OUTCOMES[:2])
    return blocked, reviewed


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


_FIRST = """
import re, sys, time
start = time.perf_counter()
import plainly
plainly.check(sys.argv[2], source=sys.argv[1])
seconds = time.perf_counter() - start
for number in range(20):
    plainly.check(f"{sys.argv[2]} {number}", source=sys.argv[1])
print(seconds, int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""


def speed(preset: str) -> list[Row]:
    """``check`` on sentences of ASSET and on letters of about 150 words, warm; the first call; memory."""
    evalset = plainly.load("asset/test")
    sentences = [(source, texts[0]) for source, texts in zip(evalset.sources, evalset.references, strict=True)]
    pairs = [pair for pair in read_part("tuning") if pair["letter"]]
    rows: list[Row] = []
    samples = {
        "a sentence": sentences[:100],
        "a letter": [(pair["source"], pair["output"]) for pair in pairs if pair["language"] == "en"],
        "a German letter": [(pair["source"], pair["output"]) for pair in pairs if pair["language"] == "de"],
    }
    for name, texts in samples.items():
        for source, output in texts[:2]:
            plainly.check(output, source=source, preset=preset)
        wall, cpu = [], []
        for source, output in texts:
            start = time.perf_counter(), time.process_time()
            plainly.check(output, source=source, preset=preset)
            wall.append(time.perf_counter() - start[0])
            cpu.append(time.process_time() - start[1])
        words = statistics.median(len(source.split()) for source, _ in texts)
        what = f"check, {name} (median {words:.0f} words), preset {preset}"
        rows.append((what, f"{1000 * statistics.median(wall):.1f} ms", f"{1000 * statistics.median(cpu):.1f} ms"))
    done = subprocess.run([sys.executable, "-c", _FIRST, *sentences[0]], capture_output=True, text=True, check=True)
    seconds, megabytes = done.stdout.split()
    rows.append(("first call of a process, import included", f"{float(seconds):.2f} s", ""))
    rows.append(("memory of that process", f"{float(megabytes):.0f} MB", ""))
    return rows


def markdown(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


LETTERS = {"letters": ("held out",), "others": ("held out 2", "held out 3"), "latest": ("held out 4",)}
HEADERS: dict[str, Row] = {
    **dict.fromkeys(
        LETTERS, ("language", "group", "wrong", "blocked", "review", "pass", "sound", "blocked", "review", "pass")
    ),
    "attacks": ("attack", "what it does", "outputs", "blocked", "review", "runs stopped"),
    "baseline": ("differences between items", "items", "passes"),
    "speed": ("what", "time", "CPU time"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=HEADERS)
    parser.add_argument("--preset", default="plain")
    parser.add_argument("--part", choices=PARTS, help="another part of the letters than the held-out one")
    parser.add_argument("--references", type=int, default=3, help="how many of the ten references of ASSET")
    parser.add_argument("--runs", type=int, default=2000, help="simulated experiments")
    parser.add_argument("--write", action="store_true", help="put the table into docs/gate.md")
    args = parser.parse_args()
    if args.table == "speed":
        os.environ["PLAINLY_SCORE_CACHE"] = "off"
    compute: dict[str, Callable[[], list[Row]]] = {
        **dict.fromkeys(LETTERS, lambda: letters(args.preset, *([args.part] if args.part else LETTERS[args.table]))),
        "attacks": lambda: attacked(load_preset(args.preset), args.references),
        "baseline": lambda: [*simulated(runs=args.runs)],
        "speed": lambda: speed(args.preset),
    }
    table = markdown(HEADERS[args.table], compute[args.table]())
    print(table)
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        marks = f"<!-- {args.table} -->", f"<!-- end of {args.table} -->"
        before, _, rest = page.partition(marks[0])
        PAGE.write_text(f"{before}{marks[0]}\n{table}\n{marks[1]}{rest.partition(marks[1])[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How well facts are checked: planted changes, references left alone, people's annotations, and how fast.

Run: python bench/facts.py letters [--held-out] [--write]
     python bench/facts.py planted|references|people|speed [--spec 'facts(…)']   (public files, see docs/data.md)
     python bench/facts.py models --ratings FILE

Letters: precision by type of the findings that are certain in the letters, whose sound pairs are also taken with one
digit changed, and the pairs that are blocked or sent to review, by group. Rules are developed on the tuning parts of
bench/letters.jsonl, letters-2.jsonl and letters-3.jsonl, and on values.jsonl and values-2.jsonl. ``--held-out`` prints
the other parts and values-3.jsonl, of which no pair was read during development, and letters-4.jsonl; ``--write``
writes the precision to factcheck/precision.toml, from which follows what blocks, and the tables to docs/facts.md.

Planted: the audit's negate, swap-numbers, swap-names, hallucinate and drop-split on ASSET's references, where an attack
records what it changed; found means: a finding of that kind that overlaps with the change. People: the annotations of
Devaraj et al. 2022 (Wikipedia part; severity 1 and 2 against 0), which were used for testing only. Models: the risk in
outputs of language models, in which people marked errors (Wu and Arase 2025, as JSONL); never fitted on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PLAINLY_SCORE_CACHE", "off")  # What is remembered takes no time.

import edits
import letters as benchmark
import numpy as np

import plainly
from plainly.auditing.attacks import ATTACKS, Rewritten, SystemOutputs
from plainly.core.evalset import EvalSet
from plainly.factcheck import reading
from plainly.factcheck.pairs import Facts, PairCheck
from plainly.text.lexicon import tokenise

RULES = Facts(model=None)
VALUES = frozenset(reading.VALUES)
VALUE_GROUPS = ("amount", "period", "date", "contact")
NEAR = 40  # characters between a finding and the words in question: "at least" belongs to "50 cm"
PRECISION = Path(reading.__file__).with_name("precision.toml")
PAGE = Path(__file__).parent.parent / "docs" / "facts.md"
VALUE_PAIRS = Path(__file__).parent
KINDS = {
    "negate": {"polarity", "modality"},
    "swap-numbers": VALUES,
    "swap-names": {"name"},
    "hallucinate": VALUES | {"claim", "name", "polarity"},
}
_CHANGED = ("Altered Meaning-L", "Altered Meaning-S", "Hallucination")
_PEOPLE = "AshOlogn/Evaluating-Factuality-in-Text-Simplification"


def letters(*, held_out: bool = False, write: bool = False) -> None:
    """Precision by type, and the pairs blocked or sent to review, by group and language."""
    name = "held out" if held_out else "tuning"
    parts = {"letters": benchmark.read_part(name), "others": benchmark.read_part(f"{name} 2", f"{name} 3")}
    for file in ("values-3",) if held_out else ("values", "values-2"):
        parts[file] = benchmark.read_pairs(VALUE_PAIRS / f"{file}.jsonl")
    pairs = [pair for part in parts.values() for pair in part]
    sound = [pair for pair in pairs if not pair["wrong"] and re.search(r"\d", pair["output"])]
    measured = [*pairs, *map(_change_digit, sound), *(_other_authors() if held_out else ())]
    if held_out:  # what blocks does not follow from these
        parts["latest"] = benchmark.read_part("held out 4")
    checked = RULES.check([pair["source"] for pair in measured], [pair["output"] for pair in measured])
    findings: dict[str, list[tuple[str, float, bool]]] = {}  # by type: language, confidence, and whether it is right
    false: set[tuple[str, str, str]] = set()  # a false finding counts once, not again where a digit was changed
    for pair, check in zip(measured, checked, strict=True):
        for finding in sorted(check.findings, key=lambda finding: -finding.sure):
            if finding.kind in VALUES and finding.harms and finding.sure >= reading.CERTAIN:
                is_right = bool(pair["wrong"]) and _is_right(pair, finding)
                key = pair["id"], finding.source_words, finding.output_words
                if is_right or key not in false:
                    findings.setdefault(finding.type, []).append((pair["language"], finding.sure, is_right))
                if not is_right:
                    false.add(key)
    rows = {key: row for kind, own in sorted(findings.items()) for key, row in _measure_type(kind, own)}
    print(f"{name}: findings that are certain")
    for (language, kind), (level, n, good, low, high) in rows.items():
        print(f"  {language} {kind:10} from {level}: {good:3} of {n:3} right, {good / n:.0%} [{low:.0%}, {high:.0%}]")
    precision = {
        code: {
            kind: {"from": level, "n": n, "right": good}
            for (language, kind), (level, n, good, *_) in rows.items()
            if language == code
        }
        for code in benchmark.LANGUAGES
    }
    blocking = reading.list_blocking(precision)
    if write:
        lines = ["# Certain findings by type in pairs that no rule was developed on; written by bench/facts.py."]
        for code in benchmark.LANGUAGES:
            lines += ["", f"[{code}]"]
            for (language, kind), (level, n, good, low, high) in rows.items():
                if language == code:
                    row = f"from = {level}, n = {n}, right = {good}, low = {low:.3f}, high = {high:.3f}"
                    lines.append(f"{kind} = {{ {row} }}")
        PRECISION.write_text("\n".join([*lines, ""]), encoding="utf-8")
        types = [
            "| type | from | English | | German | | |",
            "|---|--:|--:|---|--:|---|---|",
        ]
        for kind in sorted({kind for _, kind in rows}):
            cells = [_precision_cells(rows.get((code, kind))) for code in benchmark.LANGUAGES]
            level = next(row[0] for key, row in rows.items() if key[1] == kind)
            types.append(f"| `{kind}` | {level} | {' | '.join(cells)} | {'blocks' if kind in blocking else 'review'} |")
        _replace_part("precision", "\n".join(types))
    for name, part in parts.items():
        checks = RULES.check([pair["source"] for pair in part], [pair["output"] for pair in part])
        table = _outcome_table(part, checks, blocking)
        print(f"{name}\n{table}")
        if write:
            _replace_part(name, table)


def _measure_type(
    kind: str, findings: Sequence[tuple[str, float, bool]]
) -> Iterator[tuple[tuple[str, str], tuple[float, int, int, float, float]]]:
    """Yield the precision of a type in each language, from the lowest confidence at which it is high enough."""
    levels = (
        level
        for level in reading.LEVELS
        if (own := [right for _, sure, right in findings if sure >= level]) and reading.is_precise(sum(own), len(own))
    )
    level = next(levels, reading.CERTAIN)
    for language in sorted({language for language, _, _ in findings}):
        own = [right for code, sure, right in findings if code == language and sure >= level]
        if own:
            yield (language, kind), (level, len(own), sum(own), *_wilson(sum(own), len(own)))


def _other_authors() -> Iterator[dict[str, Any]]:
    """Yield sound texts and texts with a wrong value by the authors from whom the judge of values did not learn."""
    rng = np.random.default_rng(1)
    for number, item in enumerate(edits.read_items(held_out=True)):
        for version in edits.make_versions(item, rng, sound=5):
            if version.group in ("", *VALUE_GROUPS):
                start, end = version.place
                yield {
                    "id": f"{item.author} {number}",
                    "language": item.language,
                    "wrong": bool(version.group),
                    "source": item.source,
                    "output": version.output,
                    "source_words": "",
                    "output_words": version.output[start:end],
                    "place": start,
                }


def _precision_cells(row: tuple[float, int, int, float, float] | None) -> str:
    """Return how many findings are right, and the interval."""
    if row is None:
        return " | "
    _, n, right, low, high = row
    return f"{right} of {n} | {low:.0%} to {high:.0%}"


def _outcome_table(pairs: Sequence[benchmark.Pair], checked: Sequence[PairCheck], blocking: Mapping[str, float]) -> str:
    """Return a table of the pairs that are blocked or sent to review, by group, language and truth."""
    outcomes: Counter[tuple[str, str, bool, str]] = Counter()
    for pair, check in zip(pairs, checked, strict=True):
        cell = pair["language"], pair["group"], pair["wrong"]
        is_blocked = any(
            finding.harms and finding.sure >= blocking.get(finding.type, math.inf) for finding in check.findings
        )
        outcomes[*cell, "blocked"] += is_blocked
        outcomes[*cell, "review"] += not is_blocked and any(finding.outcome != "pass" for finding in check.findings)
        outcomes[*cell, "all"] += 1
    lines = ["| group | English wrong | English sound | German wrong | German sound |", "|---|--:|--:|--:|--:|"]
    cells = [(language, wrong) for language in benchmark.LANGUAGES for wrong in (True, False)]
    order = (*benchmark.GROUPS[:3], "time", "quantity", "percent", *benchmark.GROUPS[3:])
    groups = [group for group in order if any(pair["group"] == group for pair in pairs)]

    def row(name: str, groups: Sequence[str]) -> str:
        counts = [
            [sum(outcomes[language, group, wrong, what] for group in groups) for what in ("blocked", "review", "all")]
            for language, wrong in cells
        ]
        return f"| {name} | " + " | ".join(f"{a} + {b} of {total}" for a, b, total in counts) + " |"

    lines += [row(group, [group]) for group in groups]
    if set(groups) > {*VALUE_GROUPS, "negation"}:
        lines.append(row("amount, period, date, contact", VALUE_GROUPS))
    return "\n".join([*lines, row("all", groups)])


def _replace_part(name: str, text: str) -> None:
    """Replace a part of docs/facts.md that stands between two comments."""
    page = PAGE.read_text(encoding="utf-8")
    before, mark, rest = page.partition(f"<!-- {name} -->\n")
    if not mark:
        raise SystemExit(f"docs/facts.md has no part {name!r}")
    _, _, after = rest.partition(f"<!-- end of {name} -->")
    PAGE.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- end of {name} -->{after}", encoding="utf-8")


def _is_right(pair: Mapping[str, Any], finding: reading.FactFinding) -> bool:
    """Whether a finding points at the words in question, or stands beside them."""
    for side, spans in (("source", finding.source), ("output", finding.output)):
        words = pair[f"{side}_words"]
        start = cast("int", pair.get("place", pair[side].find(words)))
        if words and any(a - NEAR <= start + len(words) and start <= b + NEAR for a, b in spans):
            return True
    return False


def _change_digit(pair: benchmark.Pair) -> dict[str, Any]:
    """Return a sound pair with one digit of the output changed; which one follows from the text."""
    output = pair["output"]
    rng = np.random.default_rng(list(hashlib.sha256(output.encode()).digest()))
    place = int(rng.choice([match.start() for match in re.finditer(r"\d", output)]))
    digit = str(rng.choice([other for other in "123456789" if other != output[place]]))
    changed = output[:place] + digit + output[place + 1 :]
    return {
        **pair,
        "wrong": True,
        "output": changed,
        "source_words": "",
        "output_words": changed[place : place + 1],
        "place": place,
    }


def _wilson(right: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    z, share = 1.96, right / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * ((share * (1 - share) + z * z / (4 * n)) / n) ** 0.5 / (1 + z * z / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def planted(name: str = "asset/test") -> None:
    """The share of planted changes that are found, of two references per item."""
    evalset = plainly.load(name)
    totals: dict[str, list[bool]] = {}
    for turn in (0, 5):
        outputs = [row[(item + turn) % len(row)] for item, row in enumerate(evalset.references)]
        system = SystemOutputs(EvalSet.of(evalset.sources), tuple(outputs))
        for attack in (*KINDS, "drop-split"):
            rewritten = ATTACKS[attack].records(system, np.random.default_rng(7 + turn // 5))
            applied = [(item, text) for item, text in enumerate(rewritten) if text.changes]
            checked = RULES.check([evalset.sources[i] for i, _ in applied], [text.text for _, text in applied])
            for (_, text), pair in zip(applied, checked, strict=True):
                if attack == "drop-split":
                    detected = any(finding.effect == "lost" for finding in pair.findings)
                else:
                    detected = any(
                        finding.harms and finding.kind in KINDS[attack]
                        and (attack == "negate" or _overlap(finding.output, _changed_spans(text)))
                        for finding in pair.findings
                    )  # fmt: skip
                totals.setdefault(attack, []).append(detected)
    for attack, detections in totals.items():
        print(f"{attack:14} {len(detections):5} planted, {np.mean(detections):.3f} found with the right kind")


def _changed_spans(text: Rewritten) -> list[tuple[int, int]]:
    """Where the changes stand in the text that has them."""
    spans, shift = [], 0
    for change in text.changes:
        start = change.start + shift
        spans.append((start, start + len(change.after)))
        shift += len(change.after) - len(change.before)
    return spans


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
        blocked = sum(pair.outcome == "block" for pair in checked)
        print(
            f"{name}: {flagged} of {len(pairs)} references flagged ({flagged / len(pairs):.1%}), "
            f"{blocked} blocked ({blocked / len(pairs):.1%})"
        )


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


def models(file: Path) -> None:
    """AUROC of the risk within each system, and the slope of a logistic regression of the errors on its logit."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    wrong = np.array([any(error["annotation"] in _CHANGED for error in row["errors"]) for row in rows])
    system = np.array([row["system"] for row in rows])
    checks = Facts().check([row["source"] for row in rows], [row["output"] for row in rows])
    risk = np.clip([check.risk for check in checks], 1e-4, 1 - 1e-4)
    areas = {name: _area(wrong[system == name], risk[system == name]) for name in sorted(set(system))}
    print(f"{len(rows)} outputs, {wrong.sum()} with a changed meaning; AUROC within systems:")
    print("  " + ", ".join(f"{name} {area:.3f}" for name, area in areas.items()))
    table = np.column_stack([np.ones_like(risk), np.log(risk / (1 - risk))])
    weights = np.zeros(2)
    for _ in range(50):  # Newton's method
        fitted = 1 / (1 + np.exp(-table @ weights))
        weights += np.linalg.solve((table.T * fitted * (1 - fitted)) @ table, table.T @ (wrong - fitted))
    print(
        f"  mean {np.mean(list(areas.values())):.3f}; calibration slope {weights[1]:.2f}, mean risk {risk.mean():.3f}"
    )


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
    parser.add_argument("what", choices=("letters", "planted", "references", "people", "models", "speed"))
    parser.add_argument("--held-out", action="store_true", help="letters: the parts that no rule was developed on")
    parser.add_argument("--write", action="store_true", help="letters: write the tables of the held-out parts")
    parser.add_argument("--spec", action="append", help="metrics to measure (facts)")
    parser.add_argument("--ratings", type=Path, help="models: the file with the errors that people marked")
    args = parser.parse_args()
    specs = args.spec or ["facts"]
    if args.write and not args.held_out:
        parser.error("--write needs --held-out: what blocks follows from pairs that no rule was developed on")
    if args.what == "models" and args.ratings is None:
        parser.error("models needs --ratings FILE")
    actions: dict[str, Callable[[], None]] = {
        "letters": lambda: letters(held_out=args.held_out, write=args.write),
        "planted": planted,
        "references": references,
        "people": lambda: people(specs),
        "models": lambda: models(args.ratings),
        "speed": lambda: speed(specs),
    }
    actions[args.what]()


if __name__ == "__main__":
    main()

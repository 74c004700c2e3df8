"""Fit the judge of values to texts with known errors, and write factcheck/value_judge.json.

Run: python bench/value_judge.py [--write]   (about three minutes; needs the extra "regression")

Every value in the versions of ``edits/`` is described as in ``factcheck/comparing.py``. It is wrong if it overlaps with
the place of a wrong edit; what else stands near it is left out. Two ensembles of trees learn from this, one for values
that the source does not have and one for those that it has. The authors in ``edits.HELD_OUT`` are left out: the script
prints how many values of theirs, and of the tuning parts of the other files, are found at each confidence.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import edits
import letters
import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

from plainly.factcheck import comparing, evidence
from plainly.factcheck.reading import match_pairs

FILE = Path(evidence.__file__).with_name("value_judge.json")
VALUES = ("amount", "period", "date", "contact", "quantifier", "addition")  # groups whose edits concern values
SETTINGS = {
    "n_estimators": 300, "max_depth": 4, "learning_rate": 0.05, "subsample": 0.5, "min_samples_leaf": 40,
    "random_state": 0,
}  # fmt: skip
SOUND = 5  # sound versions of each item
NEAR, BESIDE = 150, 30  # characters
LEVELS = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)


class Text(NamedTuple):
    """A source and an output, and the place of the wrong words in the output; None in a sound text."""

    source: str
    output: str
    language: str
    place: tuple[int, int] | None


class Row(NamedTuple):
    """A value: the ensemble that judges it, its evidence, and whether it is wrong."""

    judge: str
    evidence: evidence.Evidence
    wrong: bool


def versions(*, held_out: bool) -> Iterator[Text]:
    rng = np.random.default_rng(7)
    for item in edits.read_items(held_out=held_out):
        for version in edits.make_versions(item, rng, sound=SOUND):
            if not version.group or version.group in VALUES:
                place = version.place if version.group else None
                yield Text(item.source, version.output, item.language, place)


def tuning_parts() -> Iterator[Text]:
    pairs = letters.read_part("tuning", "tuning 2", "tuning 3")
    for name in ("values", "values-2"):
        pairs += letters.read_pairs(edits.FOLDER.with_name(f"{name}.jsonl"))
    for pair in pairs:
        start = pair["output"].find(pair["output_words"])
        place = (start, start + len(pair["output_words"])) if pair["wrong"] and pair["output_words"] else None
        if place or not pair["wrong"]:
            yield Text(pair["source"], pair["output"], pair["language"], place)


def describe(texts: Iterator[Text]) -> list[Row]:
    """Return a row for each value, but those near a wrong one: what follows from an error may be wrong, too."""
    rows = []
    for language, group in groupby(sorted(texts, key=lambda text: text.language), key=lambda text: text.language):
        part = list(group)
        matches = match_pairs([text.source for text in part], [text.output for text in part], language=language)
        for text, match in zip(part, matches, strict=True):
            for judged in comparing.describe_values(match):
                start, end = judged.value.span
                first, last = text.place or (0, 0)
                wrong = is_wrong(judged, text.place)
                if text.place is None or wrong or start > last + NEAR or end < first - NEAR:
                    rows.append(Row(judged.judge, judged.evidence, wrong))
    return rows


def is_wrong(judged: comparing.JudgedValue, place: tuple[int, int] | None) -> bool:
    """Return whether a value overlaps with an edit, or with one beside it that limits it the other way: "at most"."""
    if place is None:
        return False
    start, end = judged.value.span
    is_turned = judged.evidence.get("turned", 0.0) or judged.evidence.get("contrary sides", 0.0)
    beside = BESIDE if is_turned else 0
    return start < place[1] + beside and place[0] < end + beside


def fit(rows: Sequence[Row]) -> tuple[dict[str, Any], evidence.Trees]:
    """Return the ensemble as it is written, and as it is used."""
    names = sorted({name for row in rows for name in row.evidence})
    table = np.array([[row.evidence.get(name, 0.0) for name in names] for row in rows])
    truth = np.array([row.wrong for row in rows])
    model = GradientBoostingClassifier(**SETTINGS).fit(table, truth)
    share = truth.mean()
    content = {
        "features": names,
        "base": round(float(np.log(share / (1 - share))), 4),
        "trees": [_write_tree(tree.tree_, 0) for tree in model.estimators_[:, 0]],
    }
    return content, evidence.Trees(**content)


def _write_tree(tree: Any, node: int) -> Any:
    if tree.children_left[node] < 0:
        return round(float(SETTINGS["learning_rate"] * tree.value[node, 0, 0]), 4)
    below, above = (_write_tree(tree, side[node]) for side in (tree.children_left, tree.children_right))
    return [int(tree.feature[node]), round(float(tree.threshold[node]), 4), below, above]


def report(name: str, trees: evidence.Trees, rows: Sequence[Row]) -> None:
    """Print how many wrong values are found at each confidence, and how many others."""
    truth = np.array([row.wrong for row in rows])
    values = np.array([trees.probability(row.evidence) for row in rows])
    print(f"  {name}: {truth.sum()} wrong of {len(rows)}")
    for level in LEVELS:
        right, false = ((values[which] >= level).sum() for which in (truth, ~truth))
        print(f"    from {level:.2f}: {right:4} right, {false:4} false")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the ensembles")
    args = parser.parse_args()
    learning, others = (describe(versions(held_out=held_out)) for held_out in (False, True))
    tuning = describe(tuning_parts())
    content = {}
    for judge in ("new", "equal"):
        part = [row for row in learning if row.judge == judge]
        print(f"{judge}: {len(part)} values, {sum(row.wrong for row in part)} wrong")
        content[judge], trees = fit(part)
        report("other authors", trees, [row for row in others if row.judge == judge])
        report("tuning parts of letters and values", trees, [row for row in tuning if row.judge == judge])
    if args.write:
        FILE.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

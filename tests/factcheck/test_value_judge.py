"""The judge of values: its trees, the names of its features, and what it finds in texts that it did not learn from."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from plainly.factcheck.comparing import describe_values
from plainly.factcheck.evidence import Trees, judges
from plainly.factcheck.pairs import Facts
from plainly.factcheck.reading import CERTAIN, VALUES, match_pairs

EDITS = Path(__file__).parents[2] / "bench" / "edits"
GROUPS = ("amount", "period", "date", "contact")


def read_edits(author: str) -> list[dict]:
    return [
        json.loads(line)
        for file in sorted(EDITS.glob(f"{author}-*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def test_trees_add_up_to_a_probability() -> None:
    trees = Trees(["size", "new"], -1.0, [[0, 2.5, 0.5, [1, 0.5, 1.0, 2.0]], 0.25])
    for evidence, total in (({"size": 2.5}, -0.25), ({"size": 3.0}, 0.25), ({"size": 3.0, "new": 1.0}, 1.25)):
        assert trees.probability(evidence) == pytest.approx(1 / (1 + math.exp(-total)))


def test_every_feature_is_known_and_used() -> None:
    """A name that is misspelt on one side would count as 0 without an error."""
    names: dict[str, set[str]] = {"new": set(), "equal": set()}
    for language in ("en", "de"):
        items = [item for author in ("1", "2", "3") for item in read_edits(language + author)[:60]]
        texts = [
            (item["source"], item["plain"].replace(old, new)) for item in items for _, old, new in item["wrong"][:3]
        ]
        for match in match_pairs(*map(list, zip(*texts, strict=True)), language=language):
            for judged in describe_values(match):
                names[judged.judge] |= set(judged.evidence)
    for judge, trees in judges().items():
        assert names[judge] <= set(trees.features)
        unseen = set(trees.features) - names[judge]
        assert all(name.startswith(("kind: ", "explained: ", "calculation: ")) for name in unseen)


@pytest.mark.parametrize("author", ["en5", "de5"])
def test_certain_values_are_wrong_in_texts_of_others(author: str) -> None:
    """Nothing was learned from these authors' texts: nearly all sound ones are not blocked, many wrong ones are."""
    items = read_edits(author)
    sound = [(item["source"], item["plain"]) for item in items]
    wrong = [
        (item["source"], item["plain"].replace(old, new))
        for item in items[::4]
        for group, old, new in item["wrong"]
        if group in GROUPS
    ]
    rates = []
    for pairs in (sound, wrong):
        checked = Facts(model=None, language=author[:2]).check(*map(list, zip(*pairs, strict=True)))
        rates.append(
            sum(any(f.harms and f.kind in VALUES and f.sure >= CERTAIN for f in check.findings) for check in checked)
            / len(pairs)
        )
    assert rates[0] <= 0.05
    assert rates[1] >= 0.3

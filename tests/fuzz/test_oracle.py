"""The counts behind SARI and BLEU beside a plain implementation with Counters, on random text."""

from __future__ import annotations

import contextlib
import random
from collections import Counter

import pytest

import plainly
from plainly.core.errors import PlainlyError
from plainly.text.tokenise import TOKENISERS

from . import nasty

pytestmark = pytest.mark.long
CASES = 400


def _grams(text: str, n: int) -> Counter[tuple[str, ...]]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    words = Tokenizer13a()(text.lower()).split()
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def sari(sources: list[str], outputs: list[str], references: list[list[str]]) -> float:
    """Corpus SARI as EASSE counts it, written to be read."""
    operations = []
    for n in range(1, 5):
        add = keep = delete = (0, 0, 0)
        for source, output, refs in zip(sources, outputs, references, strict=True):
            k = len(refs)
            s = Counter({gram: k * count for gram, count in _grams(source, n).items()})
            c = Counter({gram: k * count for gram, count in _grams(output, n).items()})
            r: Counter[tuple[str, ...]] = sum((_grams(ref, n) for ref in refs), Counter())
            added, wanted = set(c) - set(s), set(r) - set(s)
            add = (add[0] + len(added & wanted), add[1] + len(added), add[2] + len(wanted))
            both, to_keep = s & c, s & r
            keep = (keep[0] + (both & to_keep).total(), keep[1] + both.total(), keep[2] + to_keep.total())
            deleted, to_delete = s - c, s - r
            good = deleted & to_delete
            delete = (delete[0] + good.total(), delete[1] + deleted.total(), delete[2] + to_delete.total())
        operations.append([_f1(_ratio(good, by), _ratio(good, of)) for good, by, of in (add, keep, delete)])
    return 100 * sum(map(sum, operations)) / 12


def test_sari_is_what_counters_count() -> None:
    assert "13a" in TOKENISERS
    for seed in range(CASES):
        rng = random.Random(seed)
        n = rng.choice((1, 2, 5))
        sources, outputs = nasty.texts(rng, n), nasty.texts(rng, n)
        references = [[text for text in nasty.texts(rng, 3) if text.strip()] or ["x"] for _ in range(n)]
        evalset = plainly.EvalSet.of([source or "x" for source in sources], references=references)
        ours = plainly.score(evalset=evalset, outputs=outputs, metrics=["sari"], intervals=False)
        expected = sari([source or "x" for source in sources], outputs, references)
        assert float(ours["sari"]) == pytest.approx(expected, abs=1e-9), seed


def test_bleu_is_sacrebleus() -> None:
    from sacrebleu.metrics import BLEU

    for seed in range(CASES):
        rng = random.Random(seed)
        n = rng.choice((1, 3, 8))
        outputs, k = nasty.texts(rng, n), rng.choice((1, 2))
        references = [[sentence or "x" for sentence in nasty.texts(rng, k)] for _ in range(n)]
        references = [[text if text.strip() else "x" for text in row] for row in references]
        ours = plainly.score(outputs=outputs, references=references, metrics=["bleu"], intervals=False)
        theirs = BLEU().corpus_score(outputs, [list(column) for column in zip(*references, strict=True)])
        assert float(ours["bleu"]) == pytest.approx(theirs.score, abs=1e-9), seed


@pytest.mark.parametrize("seed", range(200))
def test_lists_of_anything_are_scored_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    things: tuple[object, ...] = ("", "A b.", None, float("nan"), 3, b"x", ["a"], "\ud800", "\0", "x" * 10_000, {})
    n = rng.choice((0, 1, 3))

    def some(count: int) -> object:
        return rng.choice(([rng.choice(things) for _ in range(count)], ["A cat."] * count, None, "text", 3))

    options = {
        "outputs": rng.choice((some(n), {"A": some(n), "B": some(n)}, {})),
        "sources": some(n),
        "references": rng.choice((None, [some(2) for _ in range(n)], some(n))),
        "metrics": rng.choice((["fkgl"], ["sari"], ["length", "edits"], "sari,bleu", [], ["nothing"], None)),
    }
    with contextlib.suppress(PlainlyError):
        plainly.score(**{key: value for key, value in options.items() if value is not None}).json()  # type: ignore[arg-type]

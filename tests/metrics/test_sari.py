"""Every output of every variant of SARI against counters and loops, written from the definitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from plainly.core.evalset import EvalSet
from plainly.core.registry import metric
from plainly.text.tokenise import tokens_13a

Grams = Counter[tuple[str, ...]]
WORDS = ["the", "The", "cat", "sat", "cat,", "on", "it", "mat.", "a"]


def _texts(rng: np.random.Generator, many: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, size=int(rng.integers(0, 12)))) for _ in range(many)]


def _items() -> list[tuple[str, str, list[str]]]:
    """Sources, outputs and 1, 2 or 4 references; some outputs are empty, some are copies, some texts are one word."""
    rng = np.random.default_rng(12)
    items = []
    for at in range(80):
        source, output, *references = _texts(rng, 2 + (1, 2, 4)[at % 3])
        source = source or "a cat"
        items.append((source, source if at % 10 == 0 else output, [text or "a" for text in references]))
    return items


def _count(words: Sequence[str], n: int, times: int = 1) -> Grams:
    grams = Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))
    return Counter({gram: times * count for gram, count in grams.items()})


def _divide(part: float, whole: float, undefined: float = 0.0) -> float:
    return part / whole if whole > 0 else undefined


def _f1(precision: float, recall: float) -> float:
    return _divide(2 * precision * recall, precision + recall)


def _split(text: str, tokenizer: str, blank: bool) -> list[str]:
    if tokenizer == "spaces":
        return text.split(" ")
    if not text:
        return [""] if blank else []
    return text.split() if tokenizer == "none" else list(tokens_13a(text))


def _stands_in(words: Sequence[str], source: Sequence[str]) -> bool:
    rest = iter(source)
    return all(word in rest for word in words if word)


def _counts_of_item(s: Grams, c: Grams, r: Grams, *, joshua: bool) -> list[list[float]]:
    """Return [correct, by the output, by the references] of each operation, to be summed over the corpus."""
    added, wanted = set(c) - set(s), set(r) - set(s)
    kept_counts, to_keep, deleted, to_delete = s & c, s & r, s - c, s - r
    good = kept_counts & to_keep
    keep = [good.total(), kept_counts.total(), to_keep.total()]
    if joshua:
        precision, recall = (sum(good[gram] / of[gram] for gram in good) for of in (kept_counts, to_keep))
        keep = [math.floor(1e6 * precision + 1e-6) / 1e6, math.floor(recall + 1e-9), len(to_keep)]
    delete = [(deleted & to_delete).total(), deleted.total(), to_delete.total()]
    return [[len(added & wanted), len(added), len(wanted)], keep, delete]


def _ratios_of_item(s: Grams, c: Grams, r: Grams, *, spurious: int, hf: bool) -> list[list[float]]:
    """Return precision and recall of each operation as SARI.py has them, or as Hugging Face evaluate does."""
    undefined = 1.0 if hf else 0.0
    added, wanted = set(c) - set(s), set(r) - set(s)
    hits = len(added & wanted) - spurious
    kept_counts, to_keep, deleted, to_delete = s & c, s & r, s - c, s - r
    good, gone = kept_counts & to_keep, deleted - r
    keep_p = _divide(sum(good[gram] / kept_counts[gram] for gram in good), len(kept_counts), undefined)
    keep_r = _divide(sum(good[gram] / to_keep[gram] for gram in good), len(to_keep), undefined)
    if hf:
        keep_r = _divide(good.total(), to_keep.total(), undefined)
    shares = sum(gone[gram] / deleted[gram] for gram in gone)
    return [
        [_divide(hits, len(added), undefined), _divide(hits, len(wanted), undefined)],
        [keep_p, keep_r],
        [_divide(shares, len(deleted), undefined), _divide(shares, len(to_delete), undefined)],
    ]


def _t2t_ratios_of_item(s: Grams, c: Grams, references: Sequence[Grams]) -> list[list[float]]:
    """Return precision and recall of tensor2tensor: sets, weighted by the share of references that have an n-gram."""
    filled = [grams for grams in references if grams]
    weight = {gram: sum(gram in grams for grams in filled) / max(len(filled), 1) for gram in {*s, *c}}
    added, wanted = set(c) - set(s), set().union(*references) - set(s)
    kept_counts, deleted, hits = set(s) & set(c), set(s) - set(c), len(added & wanted)
    keep, gone = sum(weight[gram] for gram in kept_counts), sum(1 - weight[gram] for gram in deleted)
    return [
        [_divide(hits, len(added), 1.0), _divide(hits, len(wanted), 1.0)],
        [_divide(keep, len(kept_counts), 1.0), _divide(keep, sum(weight[gram] for gram in s), 1.0)],
        [_divide(gone, len(deleted), 1.0), _divide(gone, sum(1 - weight[gram] for gram in s), 1.0)],
    ]


def _plain_sari(
    variant: str, *, f1: bool = False, paper: bool = False, k: int = 0, tokenizer: str, blank: bool
) -> dict[str, float]:
    """Return all outputs for the items, from (operation, order, [score, precision, recall]) of each or of all."""
    is_corpus = variant in ("easse", "star", "joshua")
    sums, parts = np.zeros((3, 4, 3)), []
    for source, output, references in _items():
        words, *in_references = (_split(text.lower(), tokenizer, blank) for text in (output, *references))
        before = source.lower().split() if variant == "star" else _split(source.lower(), tokenizer, blank)
        ratios = np.zeros((3, 4, 2))
        for n in range(1, 5):
            times = k or len(references)
            s, c = _count(before, n, times), _count(words, n, times)
            each = [_count(text, n) for text in in_references]
            r: Grams = sum(each, Counter())
            if is_corpus:
                sums[:, n - 1] += _counts_of_item(s, c, r, joshua=variant == "joshua")
            elif variant == "t2t":
                ratios[:, n - 1] = _t2t_ratios_of_item(s, c, each)
            else:
                new = (set(c) - set(s)) & set(r) if variant == "xu-modified" else ()
                spurious = sum(_stands_in(gram, source.split()) for gram in new)
                ratios[:, n - 1] = _ratios_of_item(s, c, r, spurious=spurious, hf=variant == "hf")
        parts.append(_with_scores(ratios, f1=f1))
    if is_corpus:
        ratios = np.vectorize(_divide)(sums[..., [0, 0]], sums[..., 1:])
        if variant == "joshua":
            ratios[1, :, 1] = np.vectorize(_divide)(sums[1, :, 1], sums[1, :, 2])
        parts = [_with_scores(ratios, f1=f1)]
    mean = np.mean(parts, axis=0)
    operations = mean[..., 0].mean(axis=1)
    if paper:
        operations = _with_scores(mean[..., 1:].mean(axis=1, keepdims=True), f1=f1)[:, 0, 0]
    values = [operations.mean(), *operations, *mean.reshape(-1)]
    return dict(zip(metric("sari").outputs, 100 * np.array(values), strict=True))


def _with_scores(ratios: np.ndarray, *, f1: bool) -> np.ndarray:
    scores = np.vectorize(_f1)(ratios[..., 0], ratios[..., 1])
    if not f1:
        scores[2] = ratios[2, :, 0]
    return np.concatenate([scores[..., None], ratios], axis=-1)


@pytest.mark.parametrize(
    ("spec", "plain"),
    [
        ("variant=easse", {"tokenizer": "13a", "f1": True}),
        ("variant=easse, delete=precision", {"tokenizer": "13a"}),
        ("variant=easse, average=paper", {"tokenizer": "13a", "f1": True, "paper": True}),
        ("variant=easse, average=paper, delete=precision", {"tokenizer": "13a", "paper": True}),
        ("variant=easse, reference_count=5", {"tokenizer": "13a", "f1": True, "k": 5}),
        ("variant=star", {"tokenizer": "13a", "f1": True}),
        ("variant=joshua", {"tokenizer": "none"}),
        ("variant=t2t", {"tokenizer": "none"}),
        ("variant=xu", {"tokenizer": "spaces"}),
        ("variant=xu, delete=f1", {"tokenizer": "spaces", "f1": True}),
        ("variant=xu, reference_count=5", {"tokenizer": "spaces", "k": 5}),
        ("variant=xu-modified", {"tokenizer": "spaces"}),
        ("variant=hf", {"tokenizer": "13a", "blank": True}),
    ],
)
def test_every_part_is_what_counters_count(spec: str, plain: dict[str, object]) -> None:
    sources, outputs, references = zip(*_items(), strict=True)
    sari = metric(f"sari({spec})")
    rows = sari.measure(EvalSet.of(sources, references=references), outputs)
    ours = dict(zip(sari.outputs, sari.score(rows.sum(axis=0)), strict=True))
    variant = spec.partition(",")[0].removeprefix("variant=")
    assert ours == pytest.approx(_plain_sari(variant, **{"blank": False, **plain}), abs=1e-6)

"""Labels from rules alone: what the aligner found and what kind of words they are. No trained weights, no licence.

Each rule says what an annotator would see first: a stop inside the output splits, words that stand elsewhere moved,
words of one root changed their form, words in the same gap on both sides replaced one another, the rest came or went.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plainly.text.lexicon import BE, CONTENT, KIND
from plainly.text.word_alignment import runs
from plainly.typology.vocabulary import NONE

PairLabels = tuple[list[str], list[str]]  # of every token of the source and of the output

_CONTENT = CONTENT | {KIND["adverb"]}
_CLAUSE = frozenset({KIND["relative"], KIND["auxiliary"]})
_ADVERBIAL = frozenset({KIND["preposition"], KIND["adverb"]})
_BEFORE_VERBS = frozenset({KIND["pronoun"], KIND["auxiliary"], KIND["relative"]})
_MARKS = frozenset({KIND["comma"], KIND["bracket"], KIND["stop"]})
_MARKS_OR_DETERMINER = _MARKS | {KIND["determiner"]}


@dataclass(frozen=True)
class AlignedText:
    """One text of a pair as the rules see it: words, their kinds, the place of each one's counterpart and its pass."""

    words: Sequence[str]
    kinds: Sequence[int]
    links: Sequence[int]
    passes: Sequence[int]


def label_pair(source: AlignedText, output: AlignedText) -> PairLabels:
    """A label for every token of the source and of the output."""
    labels: PairLabels = ([NONE] * len(source.words), [NONE] * len(output.words))
    _forms_and_moves(source, output, labels)
    for source_run, output_run in _gaps(source, output):
        _gap(source, output, source_run, output_run, labels)
    _splits(output, labels[1])
    return labels


def _forms_and_moves(source: AlignedText, output: AlignedText, labels: PairLabels) -> None:
    for at, place in enumerate(source.links):
        if place < 0:
            continue
        before, after = source.words[at].lower(), output.words[place].lower()
        if before != after:
            label = _form(source, at, before, output, place, after)
        elif source.passes[at] > 1:
            label = "move"
        else:
            continue
        labels[0][at] = labels[1][place] = label


def _form(source: AlignedText, at: int, before: str, output: AlignedText, place: int, after: str) -> str:
    """What kind of change of form lies between two words of one root."""
    if after in (before + "s", before + "es") or (before.endswith("y") and after == before[:-1] + "ies"):
        return "verbf" if _verbal(source, at) else "s2p"
    if before in (after + "s", after + "es") or (after.endswith("y") and before == after[:-1] + "ies"):
        return "verbf" if _verbal(source, at) else "p2s"
    passive = [at_ > 0 and side.words[at_ - 1].lower() in BE for side, at_ in ((source, at), (output, place))]
    if passive[0] and not passive[1] and before.endswith(("ed", "en", "n", "t")) and source.passes[at] > 1:
        return "p2a"
    if before.endswith(("ed", "ing")) or after.endswith(("ed", "ing")):
        return "verbf"
    derived = before.endswith(("ly", "ion", "ment", "ness", "ity")) or after.endswith(("ly", "ion", "ment"))
    if derived or before[:3] != after[:3]:
        return "POSchange"
    return "synonym" if abs(len(before) - len(after)) > 3 else "verbf" if _verbal(source, at) else "POSchange"


def _verbal(side: AlignedText, at: int) -> bool:
    """A word after a pronoun, a name, an auxiliary or "to" is more likely a verb than a noun."""
    return at > 0 and (side.kinds[at - 1] in _BEFORE_VERBS or side.words[at - 1].lower() == "to")


def _gaps(source: AlignedText, output: AlignedText) -> list[tuple[list[int], list[int]]]:
    """Unaligned words of both sides that stand between the same two words that were kept in place."""
    anchors = [(at, place) for at, place in enumerate(source.links) if source.passes[at] == 1]
    gaps = []
    before = (-1, -1)
    for anchor in [*anchors, (len(source.words), len(output.words))]:
        if anchor[0] - before[0] > 1 or anchor[1] - before[1] > 1:  # most words stand side by side
            left = [at for at in range(before[0] + 1, anchor[0]) if source.links[at] < 0]
            right = [at for at in range(before[1] + 1, anchor[1]) if output.links[at] < 0]
            if left or right:
                gaps.append((left, right))
        before = anchor
    return gaps


def _gap(source: AlignedText, output: AlignedText, left: list[int], right: list[int], labels: PairLabels) -> None:
    content = [[at for at in run if side.kinds[at] in _CONTENT] for side, run in ((source, left), (output, right))]
    stop = next((at for at in right if output.kinds[at] == KIND["stop"]), None)
    if content[0] and content[1] and len(left) <= 8 and len(right) <= 8 and stop is None:
        _replace(source, left, labels[0], cst="delcst")
        _replace(output, right, labels[1], cst="incst")
        return
    pronouns = [at for at in right if output.kinds[at] == KIND["pronoun"]]
    if content[0] and pronouns and len(right) <= 2 and not content[1]:
        for at in left:
            labels[0][at] = "pron"
        for at in right:
            labels[1][at] = "pron" if at in pronouns else "incst"
        return
    _one_sided(source, left, labels[0], ("delcst", "delmod", "delprop", "deloth"))
    _one_sided(output, right, labels[1], ("incst", "inmod", "inprop", "inoth"))


def _replace(side: AlignedText, run: list[int], target: list[str], *, cst: str) -> None:
    """A replacement reaches from its first content word to its last; what hangs on at its ends is consistency."""
    content = [at for at in run if side.kinds[at] in _CONTENT]
    for at in run:
        target[at] = "synonym" if content[0] <= at <= content[-1] or side.kinds[at] == KIND["auxiliary"] else cst


def _one_sided(side: AlignedText, run: list[int], target: list[str], names: tuple[str, str, str, str]) -> None:
    consistency, modifier, clause, other = names
    for part in runs(run):
        inner = part if any(side.kinds[at] in _CONTENT for at in part) else []
        first = next((at for at, place in enumerate(inner) if side.kinds[place] not in _MARKS), 0)
        inner = inner[first:]
        while inner and side.kinds[inner[-1]] in _MARKS_OR_DETERMINER:
            inner.pop()
        for at in part:
            target[at] = consistency
        kinds = [side.kinds[at] for at in inner]
        if len(inner) >= 4 and (_CLAUSE & set(kinds)):
            label = clause
        elif kinds and (kinds[0] in _ADVERBIAL or (len(inner) <= 2 and _modifies(side, inner))):
            label = modifier
        else:
            label = other
        for at in inner:
            target[at] = label


def _modifies(side: AlignedText, inner: list[int]) -> bool:
    """One or two words right before a content word that stayed, or an adverb in -ly."""
    if any(side.words[at].lower().endswith("ly") for at in inner):
        return True
    following = side.kinds[inner[-1] + 1 : inner[-1] + 2]
    stayed = following and following[0] in (KIND["content"], KIND["name"])
    return bool(stayed) and all(side.kinds[at] == KIND["content"] for at in inner)


def _splits(output: AlignedText, target: list[str]) -> None:
    """A stop inside the output that is not the source's own splits it."""
    last = len(output.words) - 1
    for at, kind in enumerate(output.kinds):
        if kind == KIND["stop"] and at < last and output.links[at] < 0:
            target[at] = "split"
            for following in range(at + 1, last + 1):
                if output.links[following] >= 0 or target[following] not in ("inoth", "inprop", "inmod"):
                    break
                target[following] = "incst"

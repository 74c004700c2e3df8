"""Checks of what language models write: faults of single outputs, and answers that belong to another item."""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from plainly.core.result import Note
from plainly.io.faults import output_faults
from plainly.io.faults.content import cut_off
from plainly.io.faults.output_faults import Fault
from plainly.io.faults.subject import Collection, Subject, check

_SHORT = 4  # words: a shorter answer may well be right for two items
_QUICK = 2_000  # outputs at most that a quick look reads


def _faulty(subject: Subject, code: str) -> Iterator[Note]:
    for texts in subject.systems.values():
        seen = _faults(subject, texts).get(code, {})
        if code == "unfinished" and seen and cut_off(subject, texts)[0]:
            continue  # The check "truncated" says so of the whole system.
        if seen:
            places = list(seen)
            yield texts.warning(
                f"{output_faults.SEEN[code]}, “{seen[places[0]].words}”, in {texts.items(places)}.", places
            )


for _code in output_faults.CHECKS:
    check(_code)(partial(_faulty, code=_code))


@check("same-output")
def same_output(subject: Subject) -> Iterator[Note]:
    sources = subject.evalset.sources if subject.sources.lines else None
    for texts in subject.systems.values():
        by_text: dict[str, list[int]] = defaultdict(list)
        for place, line in enumerate(texts.lines):
            if len(line.split()) >= _SHORT:
                by_text[" ".join(line.split())].append(place)
        for line, places in by_text.items():
            if sources is not None and len({sources[texts.owners[place]] for place in places}) > 1:
                yield texts.warning(
                    f"the same text for different sources, “{line[:40]}…”, {texts.items(places)}.", places
                )


@check("other-source")
def other_source(subject: Subject) -> Iterator[Note]:
    if not subject.sources.lines:
        return
    owners = {" ".join(source.split()): item for item, source in enumerate(subject.evalset.sources)}
    for texts in subject.systems.values():
        places = []
        for place, (line, item) in enumerate(zip(texts.lines, texts.owners, strict=True)):
            key = " ".join(line.split())
            if (
                key.count(" ") >= _SHORT - 1
                and key in owners
                and key != " ".join(subject.evalset.sources[item].split())
            ):
                places.append(place)
        if places:
            yield texts.warning(f"the source of another item, word for word, {texts.items(places)}.", places)


def _faults(subject: Subject, texts: Collection) -> dict[str, dict[int, Fault]]:
    """The faults of a system's outputs by code and place; looked for once."""
    if texts.name not in subject.faults:
        sources = subject.evalset.sources if subject.sources.lines else None
        most = max(_QUICK // max(len(subject.systems), 1), 1) if subject.quick else len(texts.lines)
        seen: dict[str, dict[int, Fault]] = defaultdict(dict)
        for place in range(0, len(texts.lines), max(1, -(-len(texts.lines) // max(most, 1)))):
            source = sources[texts.owners[place]] if sources is not None else ""
            for fault in output_faults.faults(source, texts.lines[place]):
                seen[fault.code].setdefault(place, fault)
        subject.faults[texts.name] = seen
    return subject.faults[texts.name]

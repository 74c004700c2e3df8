"""Yawat's two files: ``.crp`` holds three lines a pair (id, source, output), ``.aln`` one line of groups a pair.

A line of ``.aln`` is ``ID source,tokens:output,tokens:label …``. What is read is written back byte for byte, as long as
the file was canonical: one line feed after each line, one space between groups, and no blank lines.
"""

import re
from collections.abc import Sequence

from plainly.core.errors import BadInput
from plainly.typology.annotation import Group, Pair
from plainly.typology.vocabulary import canonical

_GROUP = re.compile(r"((?:\d+(?:,\d+)*)?):((?:\d+(?:,\d+)*)?):(\S+)")


def _parse_alignment(text: str, name: str) -> list[tuple[str, tuple[Group, ...]]]:
    """Ids and groups, line by line; blank lines are passed over."""
    aligned = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            identifier, *written = line.split()
            aligned.append((identifier, tuple(_group(group, f"{name}:{number}") for group in written)))
    return aligned


def parse_corpus(text: str, *, name: str = "the .crp file") -> dict[str, tuple[str, str]]:
    """Source and output by id."""
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) % 3:
        raise BadInput(f"{name} has {len(lines)} lines; it needs three for each pair: id, source, output.")
    texts: dict[str, tuple[str, str]] = {}
    for start in range(0, len(lines), 3):
        identifier = lines[start].strip()
        if identifier in texts:
            raise BadInput(f"{name}:{start + 1}: the id {identifier!r} occurs twice. Give every pair its own id.")
        texts[identifier] = (lines[start + 1], lines[start + 2])
    return texts


def read_pairs(
    alignment: str,
    corpus: str | None = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    part: str = "",
    name: str = "the .aln file",
) -> tuple[Pair, ...]:
    """Pairs from the text of an ``.aln`` file and of its ``.crp``, or of sources and outputs in the same order."""
    aligned = _parse_alignment(alignment, name)
    if corpus is not None:
        texts = parse_corpus(corpus)
        missing = next((identifier for identifier, _ in aligned if identifier not in texts), None)
        if missing is not None:
            absent = f"pair {missing!r}, which its .crp file does not hold"
            raise BadInput(f"{name} annotates {absent}. Are they of one set?")
        sides = [texts[identifier] for identifier, _ in aligned]
    elif sources is not None and outputs is not None:
        if not len(aligned) == len(sources) == len(outputs):
            raise BadInput(
                f"{name} annotates {len(aligned)} pairs, but there are {len(sources)} sources and {len(outputs)} "
                "outputs. Give one source and one output for each annotated pair, in the same order."
            )
        sides = list(zip(sources, outputs, strict=True))
    else:
        sides = [("", "")] * len(aligned)
    pairs = (Pair(key, *side, groups, part) for (key, groups), side in zip(aligned, sides, strict=True))
    return tuple(pair.checked() for pair in pairs)


def write_alignment(pairs: Sequence[Pair]) -> str:
    """The text of an ``.aln`` file."""
    return "".join(" ".join((pair.id, *map(_written, pair.groups))) + "\n" for pair in pairs)


def write_corpus(pairs: Sequence[Pair]) -> str:
    """The text of a ``.crp`` file."""
    for pair in pairs:
        if "\n" in pair.source or "\n" in pair.output:
            held = "a line feed in a text, which a .crp file cannot hold"
            raise BadInput(f"{pair.where} has {held}. Write JSONL instead.")
    return "".join(f"{pair.id}\n{pair.source}\n{pair.output}\n" for pair in pairs)


def _group(text: str, where: str) -> Group:
    parsed = _GROUP.fullmatch(text)
    if parsed is None:
        raise BadInput(f"{where}: cannot read the group {text!r}. A group is source,tokens:output,tokens:label.")
    *sides, label = parsed.groups()
    source, output = (tuple(map(int, filter(None, side.split(",")))) for side in sides)
    return Group(source, output, canonical(label))


def _written(group: Group) -> str:
    return f"{','.join(map(str, group.source))}:{','.join(map(str, group.output))}:{group.label}"

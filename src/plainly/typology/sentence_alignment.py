"""Which sentences of outputs belong to which of their sources, and how far an alignment agrees with a known one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import check_directory
from plainly.core.result import Note, Record, Result, Table
from plainly.io.alignments import SUFFIXES, read_alignments, record, write_alignments
from plainly.io.columns import Columns
from plainly.io.consistency import check_length
from plainly.io.texts import Incomplete, Outputs, read_texts
from plainly.io.units import Unit
from plainly.text.sentence_aligner import align_many
from plainly.text.sentence_alignment import HAPPENED, Alignment
from plainly.text.words import words

_SCHEMA = "plainly.align/1"
_OVERLAP = 0.1  # the share of words in common from which the baseline links


@dataclass(frozen=True, repr=False)
class Alignments(Result):
    """Alignments by system and text; where they were checked, the agreement with known ones."""

    systems: Mapping[str, Mapping[str, Alignment]]
    agreement: tuple[Record, ...] = ()
    saved: tuple[str, ...] = ()
    taken: tuple[Note, ...] = ()

    def records(self) -> list[Record]:
        return [
            {"system": system, **record(identifier, alignment)}
            for system, texts in self.systems.items()
            for identifier, alignment in texts.items()
        ]

    def json(self) -> Record:
        return {"schema": _SCHEMA, "agreement": list(self.agreement), "alignments": self.records()}

    def tables(self) -> list[Table]:
        tables = [sentence_table({system: sentence_counts(texts.values()) for system, texts in self.systems.items()})]
        if self.agreement:
            found = tuple(
                (str(row["aligner"]), *(f"{row[name]:.3f}" for name in ("precision", "recall", "f1")))
                for row in self.agreement
            )
            tables.append(Table(("aligner", "precision", "recall", "f1"), found, caption="links against known ones"))
        return tables

    def notes(self) -> list[Note]:
        return [*self.taken, *(Note(f"Wrote {path}.") for path in self.saved)]


def sentence_counts(alignments: Collection[Alignment]) -> dict[str, int]:
    """How many texts and sentences there are, and what became of the sentences."""
    counts = [alignment.counts() for alignment in alignments]
    sizes = {
        f"{side} sentences": sum(len(getattr(alignment, side)) for alignment in alignments)
        for side in ("source", "output")
    }
    happened = {name: sum(count[name] for count in counts) for name in (*HAPPENED, "moved")}
    return {"texts": len(alignments), **sizes, **happened}


def sentence_table(systems: Mapping[str, Mapping[str, int]]) -> Table:
    """What became of the sentences, a row a system."""
    rows = tuple((system, *(f"{number:,}" for number in counts.values())) for system, counts in systems.items())
    header = ("system", *next(iter(systems.values()), ()))
    return Table(header, rows, caption="source sentences by what became of them, output sentences added")


def align(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    encoder: bool = True,
    against: str | Path | None = None,
    save: str | Path | None = None,
) -> Alignments:
    """Align sentences of outputs with those of their sources; without ``encoder`` by their words alone.

    ``against`` is a file of known alignments (or a data set that has them), whose own sentences are aligned and
    compared. ``save`` writes the alignments, of several systems to one file each.
    """
    if save is not None:
        check_directory(save)
        if Path(save).suffix not in SUFFIXES:
            raise BadInput(f"{save}: the name must end in {' or '.join(SUFFIXES)}, which chooses the format.")
    taken: tuple[Note, ...] = ()
    if against is not None:
        known = _known(against)
        systems = {str(against): _aligned_anew(known, encoder=encoder)}
        agreement = tuple(_agreement(known, systems[str(against)]))
    else:
        if data is None and outputs is None:
            raise BadInput("There is nothing to align. Pass sources= and outputs=, or against=.")
        inputs = read_texts(
            data,
            sources=sources,
            outputs=outputs,
            references=references,
            evalset=evalset,
            ids=ids,
            groups=groups,
            columns=columns,
            language=language,
            incomplete=incomplete,
            unit=unit,
        )
        for system, lines in inputs.outputs.items():
            called = f"outputs[{system!r}]" if system else "outputs"
            check_length(called, lines, against="the set", expected=len(inputs.evalset))
        taken, agreement = inputs.notes, ()
        systems = {
            system: dict(
                zip(inputs.evalset.ids, align_many(inputs.evalset.sources, lines, encoder=encoder), strict=True)
            )
            for system, lines in inputs.outputs.items()
        }
    return Alignments(systems, agreement, _saved(save, systems), taken)


def _known(against: str | Path) -> dict[str, Alignment]:
    from plainly import data as public

    if isinstance(against, str) and not Path(against).exists() and against in public.names():
        return read_alignments(public.paths(against)["source"][0])
    return read_alignments(against)


def _aligned_anew(known: Mapping[str, Alignment], *, encoder: bool) -> dict[str, Alignment]:
    sources, outputs = ([getattr(one, side) for one in known.values()] for side in ("source", "output"))
    return dict(zip(known, align_many(sources, outputs, encoder=encoder), strict=True))


def _agreement(known: Mapping[str, Alignment], found: Mapping[str, Alignment]) -> list[Record]:
    """Precision, recall and F1 of single links, beside those of a baseline that counts words in common."""
    return [
        {"aligner": "plainly", **_f1(known, {name: one.edges for name, one in found.items()})},
        {"aligner": "words in common", **_f1(known, {name: _overlapping(one) for name, one in known.items()})},
    ]


def _f1(known: Mapping[str, Alignment], found: Mapping[str, frozenset[tuple[int, int]]]) -> Record:
    hits = sum(len(found[name] & one.edges) for name, one in known.items())
    links, truth = sum(map(len, found.values())), sum(len(one.edges) for one in known.values())
    precision, recall = hits / max(links, 1), hits / max(truth, 1)
    both = precision + recall
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / both if both else 0.0}


def _overlapping(alignment: Alignment) -> frozenset[tuple[int, int]]:
    """Each output sentence with the source sentence that shares most words with it (Jaccard)."""
    source = [set(words(one.text.casefold())) for one in alignment.source]
    links = set()
    for j, sentence in enumerate(alignment.output):
        written = set(words(sentence.text.casefold()))
        shares = [len(one & written) / max(len(one | written), 1) for one in source]
        if shares and max(shares) >= _OVERLAP:
            links.add((shares.index(max(shares)), j))
    return frozenset(links)


def _saved(save: str | Path | None, systems: Mapping[str, Mapping[str, Alignment]]) -> tuple[str, ...]:
    if save is None:
        return ()
    path = Path(save)
    names = {
        system: path if len(systems) == 1 else path.with_stem(f"{path.stem}-{system.replace('/', '-')}")
        for system in systems
    }
    for system, target in names.items():
        write_alignments(target, systems[system])
    return tuple(map(str, names.values()))

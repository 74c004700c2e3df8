"""Alignment of the sentences of outputs with those of their sources, and agreement with known alignments."""

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
from plainly.io.evalsets import Incomplete
from plainly.io.texts import Outputs, TextArguments
from plainly.io.units import Unit
from plainly.text.sentence_alignment import OUTCOMES, Alignment, align_many
from plainly.text.words import words

_SCHEMA = "plainly.align/1"
_OVERLAP = 0.1  # the share of common words from which the baseline links


@dataclass(frozen=True, repr=False)
class Alignments(Result):
    """Alignments by system and text, and their agreement with known ones where they were compared."""

    systems: Mapping[str, Mapping[str, Alignment]]
    agreement: tuple[Record, ...] = ()
    paths: tuple[str, ...] = ()
    input_notes: tuple[Note, ...] = ()

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
            rows = tuple(
                (str(row["aligner"]), *(f"{row[name]:.3f}" for name in ("precision", "recall", "f1")))
                for row in self.agreement
            )
            tables.append(Table(("aligner", "precision", "recall", "f1"), rows, caption="links against known ones"))
        return tables

    def notes(self) -> list[Note]:
        return [*self.input_notes, *(Note(f"Wrote {path}.") for path in self.paths)]


def sentence_counts(alignments: Collection[Alignment]) -> dict[str, int]:
    """Count texts, sentences, and what happened to the sentences."""
    counts = [alignment.counts() for alignment in alignments]
    sizes = {
        f"{side} sentences": sum(len(getattr(alignment, side)) for alignment in alignments)
        for side in ("source", "output")
    }
    outcomes = {name: sum(count[name] for count in counts) for name in (*OUTCOMES, "moved")}
    return {"texts": len(alignments), **sizes, **outcomes}


def sentence_table(systems: Mapping[str, Mapping[str, int]]) -> Table:
    """Return a table of what happened to the sentences, a row per system."""
    rows = tuple((system, *(f"{number:,}" for number in counts.values())) for system, counts in systems.items())
    header = ("system", *next(iter(systems.values()), ()))
    return Table(header, rows, caption="source sentences by what happened to them, output sentences added")


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
    """Align sentences of outputs with those of their sources; without ``encoder``, by their words alone.

    ``against`` is a file of known alignments (or a data set that has them), whose sentences are aligned and compared.
    ``save`` writes the alignments, one file per system.
    """
    if save is not None:
        check_directory(save)
        if Path(save).suffix not in SUFFIXES:
            raise BadInput(f"{save}: the file name must end in {' or '.join(SUFFIXES)}.")
    input_notes: tuple[Note, ...] = ()
    if against is not None:
        gold = _read_known(against)
        sides = ([getattr(alignment, side) for alignment in gold.values()] for side in ("source", "output"))
        computed = dict(zip(gold, align_many(*sides, encoder=encoder), strict=True))
        systems = {str(against): computed}
        # Precision, recall and F1 of single links, beside those of a baseline that counts words in common.
        links = {name: alignment.edges for name, alignment in computed.items()}
        baseline = {name: _link_by_overlap(alignment) for name, alignment in gold.items()}
        agreement: tuple[Record, ...] = (
            {"aligner": "plainly", **_score_links(gold, links)},
            {"aligner": "words in common", **_score_links(gold, baseline)},
        )
    else:
        if data is None and outputs is None:
            raise BadInput("There is nothing to align. Pass sources= and outputs=, or against=.")
        inputs = TextArguments(
            sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit
        ).read(data)
        input_notes, agreement = inputs.notes, ()
        systems = {}
        for system in inputs.outputs:
            own = inputs.shared(system)
            results = align_many(own.evalset.sources, own.outputs[system], encoder=encoder)
            systems[system] = dict(zip(own.evalset.ids, results, strict=True))
    paths = []
    for system, alignments in systems.items() if save is not None else ():
        path = Path(save or "")
        if len(systems) > 1:
            path = path.with_stem(f"{path.stem}-{system.replace('/', '-')}")
        write_alignments(path, alignments)
        paths.append(str(path))
    return Alignments(systems, agreement, tuple(paths), input_notes)


def _read_known(against: str | Path) -> dict[str, Alignment]:
    from plainly import data as public

    if isinstance(against, str) and not Path(against).exists() and against in public.names():
        return read_alignments(public.paths(against)["source"][0])
    return read_alignments(against)


def _score_links(gold: Mapping[str, Alignment], links_by_text: Mapping[str, frozenset[tuple[int, int]]]) -> Record:
    hits = sum(len(links_by_text[name] & one.edges) for name, one in gold.items())
    links, gold_links = sum(map(len, links_by_text.values())), sum(len(one.edges) for one in gold.values())
    precision, recall = hits / max(links, 1), hits / max(gold_links, 1)
    total = precision + recall
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / total if total else 0.0}


def _link_by_overlap(alignment: Alignment) -> frozenset[tuple[int, int]]:
    """Link each output sentence with the source sentence that shares most words with it (Jaccard)."""
    source = [set(words(one.text.casefold())) for one in alignment.source]
    links = set()
    for j, sentence in enumerate(alignment.output):
        output_words = set(words(sentence.text.casefold()))
        shares = [len(one & output_words) / max(len(one | output_words), 1) for one in source]
        if shares and max(shares) >= _OVERLAP:
            links.add((shares.index(max(shares)), j))
    return frozenset(links)

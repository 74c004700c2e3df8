"""Labelling of texts with operations, in memory or part by part for a large corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plainly
from plainly.core.errors import BadInput, check_count
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole
from plainly.core.progress import Progress, Tell, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.io.evalsets import Incomplete
from plainly.io.texts import Outputs, TextArguments, Texts
from plainly.streaming.engines import Engine, engine
from plainly.text.languages.detection import detect_all, language_name
from plainly.text.sentence_alignment import align_many
from plainly.text.word_alignment import is_long
from plainly.typology import formats
from plainly.typology.annotation import Pair
from plainly.typology.labeller import CHUNK, NOTICE, TextPairs, cached_labeller, label_task
from plainly.typology.sentence_alignment import sentence_counts, sentence_table
from plainly.typology.vocabulary import SCHEMA, describe

if TYPE_CHECKING:
    from plainly.io.columns import Columns
    from plainly.io.units import Unit
    from plainly.scoring.corpus_evaluation import OnError
    from plainly.streaming.batches import Bad, Part, Reading
    from plainly.streaming.corpus import Corpus

_ABOUT = "about.json"
_NO_SOURCES = "Operations are changes to the source, but there are no sources."
_TABLE_COLUMNS = ("part", "id", "label", "source_words", "output_words", "confidence")


@dataclass(frozen=True, repr=False)
class LabelledPairs(Result):
    """Pairs with the operations found by a labeller; ``part`` is the system where there are several."""

    labeller: str
    pairs: tuple[Pair, ...]
    remarks: tuple[Note, ...] = ()
    documents: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by system; of aligned documents only

    def save(self, path: str | Path) -> tuple[Path, ...]:
        """Write the pairs in the format given by the file name; return the files written."""
        return formats.save(self.pairs, path)

    def records(self) -> list[Record]:
        """Return one row per group."""
        return [dict(zip(formats.COLUMNS, row, strict=True)) for row in formats.rows(self.pairs)]

    def json(self) -> Record:
        documents = {"documents": self.documents} if self.documents else {}
        return payload(self, labeller=self.labeller, **documents, pairs=[formats.record(pair) for pair in self.pairs])

    def tables(self) -> list[Table]:
        records = (record | {"label": record["label"] and describe(record["label"])} for record in self.records())
        rows = tuple(tuple(record[column] for column in _TABLE_COLUMNS) for record in records)
        sentences = [sentence_table(self.documents)] if self.documents else []
        return [*sentences, Table(_TABLE_COLUMNS, rows, text_columns=frozenset(range(len(_TABLE_COLUMNS) - 1)))]

    def notes(self) -> list[Note]:
        return [*note_licence(self.labeller), *note_long_pairs(count_long(self.pairs)), *self.remarks]


Annotated = str | Path | Sequence[Pair] | LabelledPairs


def load_annotated(data: Annotated) -> tuple[Pair, ...]:
    """Return annotated pairs from a file, a named data set, pairs, or a result of ``label``."""
    if isinstance(data, str | Path):
        return formats.load(data)
    return data.pairs if isinstance(data, LabelledPairs) else tuple(data)


def set_name(data: Annotated) -> str:
    """Return the name of annotated pairs in a result."""
    return str(data) if isinstance(data, str | Path) else ""


def payload(result: Result, **fields: Any) -> Record:
    """Return the JSON of a result, including all warnings."""
    return {"schema": SCHEMA, **fields, "warnings": warnings(result)}


def note_licence(labeller: str) -> list[Note]:
    """Return a note about the licence of a labeller's weights, if it has any."""
    return [] if labeller in ("", "rules") else [Note(NOTICE, code="licence")]


def note_long_pairs(count: int) -> list[Note]:
    """Return a warning about pairs too long to be aligned at once."""
    if not count:
        return []
    message = (
        f"{'1 pair was' if count == 1 else f'{count:,} pairs were'} long (about 1,000 words a side) and labelled in "
        "pieces: words that moved from one piece to another count as deleted and inserted."
    )
    return [Note(message, "warning", code="long-texts")]


def label(
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
    labeller: str = "light",
    processes: int = 1,
    progress: Progress = no_progress,
) -> LabelledPairs:
    """Label the operations between sources and outputs; many pairs are labelled in several ``processes``.

    With ``unit="sentence"``, the sentences of longer texts are aligned first, and each pair is sentences that match.
    """
    arguments = TextArguments(sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit)
    return label_arguments(data, arguments, labeller=labeller, processes=processes, progress=progress)


def label_arguments(
    data: Any, arguments: TextArguments, *, labeller: str, processes: int, progress: Progress
) -> LabelledPairs:
    """Label the texts that the arguments of a public function give."""
    unit = arguments.unit
    if unit is not None and (not isinstance(unit, str) or unit != "sentence"):
        raise BadInput(f"Operations are labelled in whole texts or with unit='sentence', not {unit!r:.60}.")
    check_count("processes", processes)
    inputs = replace(arguments, unit=None).read(data)
    sides = [pair_texts(inputs, system, system if len(inputs.outputs) > 1 else "") for system in inputs.outputs]
    documents: dict[str, Mapping[str, int]] = {}
    for at, system in enumerate(inputs.outputs) if unit is not None else ():
        sides[at], documents[system] = _align_sentences(sides[at])
    pairs_by_system = label_texts(sides, labeller=labeller, processes=processes, progress=progress)
    pairs = tuple(chain.from_iterable(pairs_by_system))
    return LabelledPairs(labeller, pairs, note_inputs(inputs), documents)


def _align_sentences(texts: TextPairs) -> tuple[TextPairs, dict[str, int]]:
    """Pair matching sentences, numbered within their text; a side is empty where a sentence was added or dropped."""
    sources, outputs, ids, part = texts
    alignments = align_many(sources, outputs, encoder=False)
    pairs = [
        (*pair, f"{name}-{number}")
        for name, alignment in zip(ids, alignments, strict=True)
        for number, pair in enumerate(alignment.pairs(), 1)
    ]
    own, other, names = zip(*pairs, strict=True) if pairs else ((), (), ())
    return (own, other, names, part), sentence_counts(alignments)


def note_inputs(inputs: Texts) -> tuple[Note, ...]:
    """Return the notes on the texts, and a warning where they are not in English, the only language of labellers."""
    language = inputs.language or detect_all(inputs.evalset.sources[:200])[1]
    if language in (None, "en"):
        return inputs.notes
    message = (
        f"The texts are {language_name(language)}, but labellers use words and patterns of English. Labels of kept, "
        "moved and deleted words may be right; the others are unreliable."
    )
    return (*inputs.notes, Note(message, "warning", "metric-language"))


def pair_texts(texts: Texts, system: str, part: str = "") -> TextPairs:
    """Return the sources and outputs of the items that a system has, checked to be pairs."""
    if not texts.evalset.has_sources:
        raise BadInput(f"{_NO_SOURCES} Pass sources=.")
    present = texts.shared(system)
    return present.evalset.sources, present.outputs[system], present.evalset.ids, part


def label_texts(
    texts: Sequence[TextPairs], *, labeller: str, processes: int = 1, progress: Progress = no_progress
) -> list[list[Pair]]:
    """Return the labelled pairs of each of the texts."""
    chunks = [
        (number, slice(start, start + CHUNK))
        for number, (sources, *_) in enumerate(texts)
        for start in range(0, len(sources), CHUNK)
    ]
    tasks = [(*(column[chunk] for column in texts[number][:3]), texts[number][3]) for number, chunk in chunks]
    total = sum(len(sources) for sources, *_ in texts)
    # Processes take longer to start than a chunk takes to label.
    workers = engine("local", processes=processes if total > CHUNK else 1)
    with progress("labelling", total=total, unit="pairs") as tell:
        results = dict(workers.run(partial(label_task, labeller), tasks, tell=tell))
    pairs: list[list[Pair]] = [[] for _ in texts]
    for task, (number, _) in enumerate(chunks):
        pairs[number] += results[task]
    return pairs


@dataclass(frozen=True, repr=False)
class LabelledCorpus(Result):
    """The pairs labelled into a folder, and the rows that an earlier run labelled or that were set aside."""

    labeller: str
    folder: Path
    pairs: int
    reading: Reading
    long: int = 0  # pairs that were labelled in pieces

    def records(self) -> list[Record]:
        """Return one row for each row, or run of rows, that was set aside."""
        return list(map(asdict, self.reading.bad))

    def json(self) -> Record:
        rows = {"parts": self.reading.parts, "pairs": self.pairs, "resumed": self.reading.resumed}
        return payload(self, labeller=self.labeller, **rows, bad=self.records(), set_aside=self.reading.set_aside)

    def tables(self) -> list[Table]:
        counts = (self.pairs, self.reading.parts, self.reading.resumed, self.reading.set_aside)
        header = ("labelled into", "pairs", "parts", "of them before", "rows set aside")
        return [Table(header, ((str(self.folder), *(f"{count:,}" for count in counts)),))]

    def notes(self) -> list[Note]:
        reading = self.reading
        notes = [Note(f"{self.pairs:,} pairs labelled into {self.folder} ({reading.parts} parts)")]
        if reading.resumed:
            notes.append(Note(f"{reading.resumed} of {reading.parts} parts were labelled before"))
        return [*note_licence(self.labeller), *notes, *note_long_pairs(self.long), *reading.notes()]


def label_corpus(
    corpus: Corpus,
    folder: str | Path,
    *,
    engine: Engine,
    labeller: str = "light",
    on_error: OnError = "stop",
    restart: bool = False,
    progress: Progress = no_progress,
) -> LabelledCorpus:
    """Label every pair of a corpus into ``folder``; parts that an earlier, identical run finished are skipped."""
    from plainly.streaming.batches import Bad, Reading

    if not corpus.has_sources:
        raise BadInput(_NO_SOURCES)
    cached_labeller(labeller)  # raises if there is no labeller of that name
    target = Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    identity = json.dumps([corpus.identity, labeller, on_error, plainly.__version__])
    finished = _read_finished(target, hashlib.sha256(identity.encode()).hexdigest()[:16], restart=restart)
    tasks = [task for task in enumerate(corpus.parts) if task[0] not in finished]
    resumed = len(finished)
    with (
        progress("labelling", total=corpus.rows, unit="rows") as tell,
        open(target / _ABOUT, "a", encoding="utf-8") as about,
    ):
        tell(sum(corpus.parts[number].count for number in finished))
        for _, entry in engine.run(partial(_label_part, labeller, target, on_error), tasks, tell=tell):
            finished[entry["part"]] = entry
            about.write(json.dumps(entry) + "\n")
            about.flush()
    bad_rows = tuple(Bad(**row) for number in sorted(finished) for row in finished[number]["bad"])
    reading = Reading(corpus.rows, corpus.rows, sum(map(len, bad_rows)), bad_rows, resumed, len(corpus.parts))
    pairs, long = (sum(entry.get(name, 0) for entry in finished.values()) for name in ("pairs", "long"))
    return LabelledCorpus(labeller, Path(folder), pairs, reading, long)


def _label_part(labeller: str, folder: Path, on_error: OnError, task: tuple[int, Part], tell: Tell) -> Record:
    """Label the pairs of a part and write them; return the part's entry in the file that describes the folder."""
    number, part = task
    pairs: list[Pair] = []
    bad: list[Bad] = []
    for batch in part.read(frozenset({"source"})):
        if batch.bad and on_error == "stop":
            raise batch.bad[0].error()
        bad += batch.bad
        texts = Texts(batch.evalset, batch.outputs)
        for system in texts.outputs:
            pairs += label_task(labeller, pair_texts(texts, system, system if len(texts.outputs) > 1 else ""))
        tell(batch.read)
    write_whole(_path(folder, number), formats.write_jsonl(pairs))
    return {"part": number, "pairs": len(pairs), "long": count_long(pairs), "bad": list(map(asdict, bad))}


def _read_finished(folder: Path, key: str, *, restart: bool) -> dict[int, Any]:
    """Return the parts that an earlier, identical run into this folder finished; refuse the files of another run."""
    path = folder / _ABOUT
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if lines and json.loads(lines[0])["key"] != key and not restart:
        raise BadInput(f"{folder} holds the labels of another run. Name another folder, or use --restart.")
    if restart or not lines:
        for old in folder.glob("part-*.jsonl"):
            if not restart:
                raise BadInput(f"{folder} holds {old.name} already. Name another folder, or use --restart.")
            old.unlink()
        path.write_text(json.dumps({"key": key}) + "\n", encoding="utf-8")
        return {}
    entries = [json.loads(line) for line in lines[1:] if line.endswith("}")]
    return {entry["part"]: entry for entry in entries if _path(folder, entry["part"]).exists()}


def _path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06d}.jsonl"


def count_long(pairs: Iterable[Pair]) -> int:
    """Count labelled pairs that were too long to be aligned at once."""
    return sum(is_long(pair.source.split(), pair.output.split()) for pair in pairs)

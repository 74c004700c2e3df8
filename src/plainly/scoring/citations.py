"""What to cite: BibTeX for plainly, and for the metrics, data, models and statistics that a result used.

The references stand beside what they are about: papers.toml for metrics and statistics, models.toml for models, the
cards for data sets and outputs.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plainly
from plainly import data
from plainly.core import registry
from plainly.core.errors import BadInput, PlainlyError
from plainly.core.metric import Metric
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.data.card import output_cards
from plainly.io.files import label, read_bytes
from plainly.learned.adapters import published
from plainly.metrics.evidence import evidence, papers, uses_shipped_model
from plainly.scoring.score_file import open_saved
from plainly.scoring.scores import Signature

TITLE = "plainly: evaluating text simplification"
_SETS = ("test_set", "set", "ratings", "gold", "people", "annotations")  # keys of results that name data sets
_JUDGES = ("judge", "judge-pairs", "jury")


@dataclass(frozen=True)
class Reference:
    """A BibTeX entry, and what it is cited for."""

    bibtex: str
    uses: tuple[str, ...]

    @property
    def key(self) -> str:
        match = re.match(r"@\w+\{\s*([^,\s]+)", self.bibtex)
        return match[1] if match else ""

    @property
    def title(self) -> str:
        """The title without braces, case and punctuation, by which one paper with two keys is recognised."""
        match = re.search(r"\btitle\s*=\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}", self.bibtex)
        return re.sub(r"\W+", "", match[1] if match else self.key).casefold()


@dataclass(frozen=True, repr=False)
class Citations(Result):
    """References by what they are cited for; ``remarks`` name what has no reference here."""

    references: tuple[Reference, ...]
    remarks: tuple[str, ...] = ()

    @property
    def bibtex(self) -> str:
        """All entries, each once."""
        return "\n\n".join(reference.bibtex for reference in self.references)

    def records(self) -> list[Record]:
        """Return one record per reference."""
        return [
            {"key": reference.key, "for": ", ".join(reference.uses), "bibtex": reference.bibtex}
            for reference in self.references
        ]

    def json(self) -> Record:
        """Return the schema plainly.cite/1."""
        references = [{"key": one.key, "for": list(one.uses), "bibtex": one.bibtex} for one in self.references]
        return {"schema": "plainly.cite/1", "references": references, "warnings": warnings(self)}

    def tables(self) -> list[Table]:
        """Return nothing: BibTeX is not a table."""
        return []

    def notes(self) -> list[Note]:
        """Return the BibTeX, and what has no reference."""
        return [Note(self.bibtex, kind="claim"), *map(Note, self.remarks)]


def cite(results: Result | str | Path | Sequence[Result | str | Path] | None = None) -> Citations:
    """Return what to cite for results: values that plainly returned, files of JSON that it printed, or saved scores.

    Without results, plainly alone.
    """
    several = results if isinstance(results, Sequence) and not isinstance(results, str) else [results]
    parts = [_of_payload(_payload(result)) for result in several if result is not None]
    references = [reference for part in (collect(), *parts) for reference in part.references]
    return Citations(_merge(references), tuple(dict.fromkeys(remark for part in parts for remark in part.remarks)))


def collect(
    *,
    metrics: Iterable[Metric] = (),
    sets: Iterable[str] = (),
    systems: Iterable[str] = (),
    has_intervals: bool = False,
    has_tests: bool = False,
) -> Citations:
    """Return the references for metrics, data sets, their published systems, and statistics."""
    references = [Reference(_own_entry(), ("plainly",))]
    remarks = []
    for name in dict.fromkeys(sets):
        references += _of_set(name, set(systems))
    for metric in metrics:
        about = evidence(metric)
        entries = [*about.cite, *about.after]
        if metric.name in ("bleu", "chrf"):  # as sacrebleu computes it
            entries.append(papers()["post-2018"])
        references += [Reference(paper.bibtex, (f"metric {metric.name}",)) for paper in entries]
        for model in _models(metric):
            card = published.cards().get(model)
            references += [Reference(paper.bibtex, (f"model {model}",)) for paper in (card.own_papers if card else ())]
            if card is None and not uses_shipped_model(metric):
                remarks.append(f"No reference is known for the model {model!r} of {metric.name}: see its own page.")
    keys = ["efron-1993"] * has_intervals + ["riezler-2005", "holm-1979"] * has_tests
    references += [Reference(papers()[key].bibtex, ("statistics",)) for key in keys]
    return Citations(_merge(references), tuple(dict.fromkeys(remarks)))


def _own_entry() -> str:
    return (
        f"@software{{plainly, title = {{{TITLE}}},\n"
        f"  author = {{{{The plainly authors}}}}, version = {{{plainly.__version__}}}}}"
    )


def _of_set(name: str, systems: set[str]) -> Iterator[Reference]:
    if name not in data.names():
        return
    card = data.card(name)
    yield from _split(card.citation, f"data {name}")
    for outputs in output_cards(card) if card.kind == "evalset" else ():
        if own := [system for system in outputs.systems if system in systems]:
            yield from _split(outputs.citation, f"outputs {outputs.name} ({', '.join(own)})")
            yield from (_of_system(system, paper) for system in own for paper in data.describe_system(system, name)
                        if not paper.is_collection)  # fmt: skip


def _of_system(system: str, paper: data.SystemPaper) -> Reference:
    """Return an entry for a system's paper, of which only the first authors are known here."""
    author = re.sub(r" et al\.$", " and others", paper.short.removesuffix(f" {paper.year}"))
    key = f"{author.partition(' and ')[0].lower()}-{paper.year}-system".replace(" ", "-")
    entry = (
        f"@misc{{{key}, title = {{{{{paper.title}}}}},\n"
        f"  author = {{{author}}}, year = {{{paper.year}}}, url = {{{paper.url}}}}}"
    )
    return Reference(entry, (f"system {system}",))


def _split(citation: str, use: str) -> Iterator[Reference]:
    """Yield the entries of a citation, which may have several."""
    for entry in re.split(r"\n(?=@)", citation.strip()):
        if entry.strip():
            yield Reference(entry.strip(), (use,))


def _models(metric: Metric) -> Iterator[str]:
    """Yield the published models that a metric uses, and the language models that judge."""
    for name in ("model", "judges") if metric.name in _JUDGES else metric.defaults:
        value = getattr(metric.definition, name, None)
        if isinstance(value, str) and value and (metric.name in _JUDGES or re.fullmatch(r"[\w.-]+/[\w.-]+", value)):
            yield value


def _merge(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """Return each paper once, with all that it is cited for."""
    merged: dict[str, Reference] = {}
    for reference in references:
        first = merged.get(reference.title, Reference(reference.bibtex, ()))
        # An entry of a system has only the first authors; another entry of the same paper has all.
        entry = reference.bibtex if first.bibtex.startswith("@misc") else first.bibtex
        merged[reference.title] = Reference(entry, tuple(dict.fromkeys((*first.uses, *reference.uses))))
    return tuple(merged.values())


def _payload(result: Result | str | Path) -> Record:
    """Return a result as JSON, read from a file if need be."""
    if Result in type(result).__mro__:
        return result.json()  # type: ignore[union-attr]
    if not isinstance(result, (str, Path)):
        raise BadInput(f"results= must be a result of plainly or a file, not {type(result).__name__}.")
    if str(result).endswith(".npz"):
        return open_saved(str(result)).json()
    name = label(str(result))
    try:
        payload = json.loads(read_bytes(str(result)))
    except FileNotFoundError:
        raise BadInput(f"There is no file {name}. Make one with: plainly score … --json > result.json") from None
    except (ValueError, OSError) as error:
        raise BadInput(f"{name} is not a saved result: {error}. Pass what a command printed with --json.") from None
    if not isinstance(payload, dict) or not str(payload.get("schema", "")).startswith("plainly."):
        raise BadInput(f"{name} is not a result of plainly. Pass what a command printed with --json.")
    return payload


def _of_payload(payload: Mapping[str, Any]) -> Citations:
    """Return what a result in JSON used: signatures state metrics and models, other keys data, systems and tests."""
    entries = list(_walk(payload))
    specs = [Signature.parse(text).spec for text in _texts(entries, "signature")]
    specs = specs or [*_texts(entries, "metric"), *_texts(entries, "metrics"), *_texts(entries, "spec")]
    metrics: dict[str, Metric] = {}
    remarks = []
    for spec in dict.fromkeys(specs):
        try:
            metrics[spec] = registry.metric(spec)
        except PlainlyError:
            remarks.append(f"No reference is known for the metric {spec!r}: this installation does not have it.")
    tests = _texts(entries, "test") + _texts(entries, "deciding_test")
    citations = collect(
        metrics=metrics.values(),
        sets=[name for key in _SETS for name in _texts(entries, key)],
        systems=_texts(entries, "system") + _texts(entries, "systems"),
        has_intervals=any(text.startswith("bootstrap") for text in _texts(entries, "method")),
        has_tests=any("randomisation" in text for text in tests),
    )
    return Citations(citations.references, (*citations.remarks, *remarks))


def _walk(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every text of a nested value with the key that it stands under."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _walk(inner, str(name))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _walk(inner, key)
    elif isinstance(value, str):
        yield key, value


def _texts(entries: Iterable[tuple[str, Any]], key: str) -> list[str]:
    return [value for name, value in entries if name == key]

"""``plainly models``: the models that metrics use, shipped or published, and fetching those that are published."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName
from plainly.core.files import read_shipped
from plainly.core.formatting import number, size
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Listing, Record, Table
from plainly.learned import encoder
from plainly.learned.adapters import hub
from plainly.metrics.evidence import Paper, all_evidence, papers

_SCHEMA = "plainly.models/1"
_UNKNOWN = "not known"
_SHIPPED = {encoder.JUDGE: ("quality", "fluency", "meaning"), encoder.SHIPPED: ("sle", "doc-sle", "cefr")}


@dataclass(frozen=True)
class PublishedCard:
    """A published model: its hub name, the metrics that use it by default, and what its page on the hub states.

    An empty ``licence`` or ``size`` is not known. ``cite`` are keys of papers about the model itself.
    """

    name: str
    metrics: tuple[str, ...]
    part: hub.Part = "model"
    licence: str = ""
    size: str = ""
    cite: tuple[str, ...] = ()

    @property
    def own_papers(self) -> tuple[Paper, ...]:
        """The papers about the model itself, where those of its metrics are about something else."""
        return tuple(papers()[key] for key in self.cite)

    @property
    def url(self) -> str:
        return f"https://huggingface.co/{self.name}"

    @property
    def papers(self) -> tuple[Paper, ...]:
        """The papers of the metrics that use it."""
        entries = [all_evidence()[metric] for metric in self.metrics]
        return tuple(dict.fromkeys(paper for about in entries for paper in (*about.cite, *about.after)))


@cache
def cards() -> dict[str, PublishedCard]:
    """Return the published models that metrics use by default, by hub name."""
    entries = read_shipped(__file__, "models.toml")
    return {
        name: PublishedCard(name, **entry | {key: tuple(entry.get(key, ())) for key in ("metrics", "cite")})
        for name, entry in entries.items()
    }


def catalogue() -> Listing:
    """List the models that come with plainly and the published ones, with licence, size and evidence."""
    rows = (*map(_describe_shipped, _SHIPPED), *(_describe_published(card) for card in cards().values()))
    header = ("model", "metrics", "here", "size", "licence", "evidence")
    cells = tuple(
        (
            row["name"], ", ".join(row["metrics"]), row["where"], row["size"] or _UNKNOWN,
            (row["licence"] or _UNKNOWN).partition(";")[0], row["evidence"],
        )
        for row in rows
    )  # fmt: skip
    remark = "plainly models get METRIC downloads what a metric needs; plainly models info NAME says more."
    table = Table(header, cells, text_columns=frozenset(range(len(header))))
    return Listing({"schema": _SCHEMA, "models": list(rows)}, rows, remark=remark, table=table)


def describe(name: str) -> Listing:
    """Describe a model, or the models of a metric."""
    rows = [_describe_shipped(name)] if name in _SHIPPED else [_describe_published(card) for card in _choose(name)]
    labels = {
        "metrics": "metrics", "where": "here", "path": "path", "size": "size", "licence": "licence", "url": "page",
        "revision": "revision",
    }  # fmt: skip
    cells = []
    for row in rows:
        cells.append(("model", row["name"]))
        for key, label in labels.items():
            value = ", ".join(row[key]) if isinstance(row[key], list) else row[key]
            if value or key in ("size", "licence"):
                cells.append((label, value or _UNKNOWN))
    metrics = dict.fromkeys(metric for row in rows for metric in row["metrics"])
    prose = []
    for metric in metrics:
        about = all_evidence()[metric]
        sources = "; ".join(f"{paper.short} {paper.url}".strip() for paper in (*about.cite, *about.after))
        prose.append(
            f"{metric}: {about.measures} What it misses: {about.blind}{f' Papers: {sources}' if sources else ''}"
        )
    table = Table((name, ""), tuple(cells), text_columns=frozenset({0, 1}))
    return Listing({"schema": _SCHEMA, "models": rows}, tuple(rows), prose="\n\n".join(prose), table=table)


def get(*names: str, progress: Progress = no_progress) -> Listing:
    """Download the models of metrics, or models by hub name; check every file and replace those that differ."""
    if not names:
        raise BadInput("Name metrics or models to fetch, such as bertscore. See: plainly models")
    parts: dict[tuple[str, hub.Part], None] = {}
    for name in names:
        parts |= {(card.name, card.part): None for card in _choose(name)}
    rows = []
    while parts:
        name, part = next(iter(parts))
        del parts[name, part]
        path = hub.download(name, part, progress=progress)
        if part == "checkpoint":  # it has the weights, but neither configuration nor tokenizer of its encoder
            parts[hub.encoder_of(path), "encoder"] = None
        manifest = hub.read_manifest(path)
        rows.append(
            {
                "name": name, "files": len(manifest["files"]), "revision": manifest["revision"],
                "bytes": sum(file["size"] for file in manifest["files"].values()), "path": str(path),
                "licence": manifest["licence"] or None,
            }
        )  # fmt: skip
    cells = tuple(
        (row["name"], str(row["files"]), size(row["bytes"]), row["licence"] or "none stated", row["path"])
        for row in rows
    )
    table = Table(("model", "files", "size", "licence", "where"), cells, text_columns=frozenset({0, 3, 4}))
    remark = f"Every file has the size and digest that {hub.endpoint()} states."
    return Listing({"schema": _SCHEMA, "models": rows}, tuple(rows), remark=remark, table=table)


def _choose(name: str) -> Sequence[PublishedCard]:
    """Return the models of a metric, or the model of that hub name, which may be one that is not listed."""
    if name in _SHIPPED or name in {metric for metrics in _SHIPPED.values() for metric in metrics}:
        raise BadInput(f"{name!r} uses a model that comes with plainly: there is nothing to download.")
    by_metric = [card for card in cards().values() if name in card.metrics]
    if by_metric or name in cards():
        return by_metric or [cards()[name]]
    if "/" in name:
        return [PublishedCard(name, ())]
    if name in registry.METRICS:
        raise BadInput(f"{name!r} uses no published model by default. See: plainly models")
    choices = [*_SHIPPED, *cards(), *dict.fromkeys(metric for card in cards().values() for metric in card.metrics)]
    raise UnknownName("model", name, choices, see="plainly models")


def _describe_shipped(name: str) -> Record:
    path = encoder.directory(name)
    facts = encoder.read_facts(path)
    rows = [row for metric in _SHIPPED[name] for row in all_evidence()[metric].agreement]
    about = f"plainly metrics {_SHIPPED[name][0]}"
    if rows:
        low, high = (number(value, page=True) for value in (min(r.pearson for r in rows), max(r.pearson for r in rows)))
        about = f"Pearson {low} to {high} with people, by kind of output: plainly metrics {_SHIPPED[name][0]}"
    return {
        "name": name, "kind": "shipped", "metrics": list(_SHIPPED[name]), "where": "shipped", "path": str(path),
        "size": size(sum(file.stat().st_size for file in path.iterdir())), "licence": facts["licence"],
        "evidence": about, "url": None, "revision": None,
    }  # fmt: skip


def _describe_published(card: PublishedCard) -> Record:
    path: Path | None = hub.find(card.name, card.part)
    manifest = hub.read_manifest(path) if path is not None else {}
    files = manifest.get("files", {})
    return {
        "name": card.name, "kind": "published", "metrics": list(card.metrics), "where": "no" if path is None else "yes",
        "path": str(path) if path is not None else None,
        "size": size(sum(file["size"] for file in files.values())) if files else card.size or None,
        "licence": manifest.get("licence") or card.licence or None,
        "evidence": "; ".join(paper.short for paper in card.papers), "url": card.url,
        "revision": manifest.get("revision"),
    }  # fmt: skip

"""Reports: a page, figures and tables for papers, plots in notebooks.

``overview`` collects the findings, ``plots`` draws them, ``page`` and ``paper`` write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from plainly import data as data_sets
from plainly.checks.gate import Gate
from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.core.formatting import size
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.io.texts import TextArguments
from plainly.metrics.evidence import Agreement, check_kind, find_agreement, tabulate_agreement
from plainly.people import RatingsLike, read_ratings
from plainly.people.choices import read_rankings
from plainly.people.operation_results import count_operations, read_annotations
from plainly.people.preferences import rank
from plainly.reporting import paper
from plainly.reporting.figures import Panel
from plainly.reporting.overview import Overview, Sentence, overview
from plainly.reporting.svg import Figure
from plainly.scoring.corpus_evaluation import CorpusOptions
from plainly.scoring.score import MeasureOptions, measure
from plainly.scoring.scores import ScoreTable, SystemScores

if TYPE_CHECKING:
    from plainly.core.evalset import EvalSet
    from plainly.core.metric import Metric
    from plainly.io.columns import Columns
    from plainly.io.evalsets import Incomplete
    from plainly.io.texts import Outputs
    from plainly.io.units import Unit
    from plainly.streaming.engines import Engine

__all__ = ["Overview", "Report", "plot", "report"]

_TITLE = "Text simplification report"
_FORMATS = ("svg", "pdf", "png")


@dataclass(frozen=True, repr=False)
class Report(Result):
    """A report that can be written as a page, or as figures and tables; it records the files that it wrote."""

    overview: Overview
    title: str = _TITLE
    pages: list[Path] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    gate: Gate | None = None
    command: str = ""  # the command line that made it
    kind: str | None = None  # who wrote the outputs: a kind of plainly.metrics.evidence; None where it is not known

    @property
    def agreement(self) -> tuple[Agreement, ...]:
        """How far the learned scores agree with people on outputs of this kind, or of all."""
        metrics = map(self.overview.metric, self.overview.specs)
        return tuple(dict.fromkeys(row for metric in metrics for row in find_agreement(metric, self.kind)))

    @cached_property
    def plots(self) -> tuple[Panel, ...]:
        """Every plot, in the order of the page."""
        from plainly.reporting.plots import plots

        return tuple(plots(self.overview))

    @property
    def summary(self) -> list[Sentence]:
        """The report in sentences."""
        return self.overview.summary

    @cached_property
    def html(self) -> str:
        """The page."""
        from plainly.reporting.page import page

        agreement = tabulate_agreement(self.agreement) if self.agreement else None
        return page(self.overview, self.title, self.plots, gate=self.gate, command=self.command, agreement=agreement)

    def write(self, path: str | Path) -> Path:
        """Write the page and return its path."""
        write_whole(path, self.html)
        self.pages.append(Path(path))
        return self.pages[-1]

    def write_figures(
        self, directory: str | Path, *, formats: Sequence[str] = _FORMATS, progress: Progress = no_progress
    ) -> list[Path]:
        """Write every plot in every format, the table as .tex, .md and .csv, methods.txt and references.bib."""
        target = Path(directory)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"Cannot create the directory {directory}: {error.strerror or error}.") from error
        self.figures.clear()
        total = len(self.plots) * len(formats) + len(paper.EXPORTS)
        with progress("drawing figures", total=total, unit="files") as tell:
            for name, content in self._files(formats):
                write_whole(target / name, content)
                self.figures.append(target / name)
                tell(1)
        return self.figures

    def _files(self, formats: Sequence[str]) -> Iterator[tuple[str, str | bytes]]:
        for plot in self.plots:
            for form in formats:
                yield f"{plot.name}.{form}", plot.figure.render(form)
        for _, name, text in paper.EXPORTS:
            yield name, text(self.overview) + "\n"

    def records(self) -> list[Record]:
        return self.overview.evaluation.records()

    def json(self) -> Record:
        """Schema plainly.report/1."""
        return {
            "schema": "plainly.report/1",
            "page": str(self.pages[-1]) if self.pages else None,
            "figures": list(map(str, self.figures)),
            "summary": [sentence.text for sentence in self.summary],
            "left_out": list(self.overview.left_out),
            "agreement": [asdict(row) for row in self.agreement],
            "warnings": [caution.json() for caution in self.overview.cautions],
        }

    def tables(self) -> list[Table]:
        return self.overview.evaluation.tables()

    def notes(self) -> list[Note]:
        """Return the summary, parts that were left out, warnings about the texts, and the files that were written."""
        contents = self.overview
        notice = contents.operations.notice if contents.operations is not None else ""
        files = [Note(f"Wrote {path} ({size(len(self.html.encode()))}).") for path in self.pages]
        if self.figures:
            files.append(Note(f"Wrote {len(self.figures)} files to {self.figures[0].parent}."))
        return [
            *(Note(sentence.text, "claim") for sentence in self.summary),
            *(Note(f"Left out: {reason}") for reason in contents.left_out),
            *([Note(notice)] if notice else []),
            *(Note(text) for text in (tabulate_agreement(self.agreement).notes[:1] if self.agreement else ())),
            *contents.cautions,
            *files,
        ]


def report(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    metrics: str | Sequence[str | Metric] | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    intervals: bool = True,
    sampling: Sampling = Sampling(),
    advice: bool = True,
    engine: Engine | str = "local",
    processes: int | None = None,
    address: str | None = None,
    title: str = "",
    labeller: str | None = "rules",
    audit: bool = True,
    ratings: RatingsLike = None,
    out: str | Path | None = None,
    figures: str | Path | None = None,
    gate: Gate | None = None,
    command: str = "",
    kind: str | None = None,
    progress: Progress = no_progress,
) -> Report:
    """Report on scores: ``data`` is what ``score`` takes, or an evaluation that it returned.

    ``labeller`` labels the operations (None: no labels), ``audit`` turns tricks on the metrics on or off, ``ratings``
    are human ratings of these outputs: a file, the name of a public set, or ratings read by ``plainly.people``.
    The findings of a ``gate`` become a section, and the ``command`` is shown beside the signatures. ``kind`` says who
    wrote the outputs (statistical, neural, language-models or people), so that the page shows how far learned scores
    agree with people on such outputs; without it, on all kinds.
    The page is written to ``out`` and the figures into the directory ``figures``, if given.
    """
    if out is not None and not Path(out).resolve().parent.is_dir():
        raise BadInput(f"Cannot write {out}: there is no directory {Path(out).parent}. Create it first.")
    check_kind(kind)
    choices, annotations, judgements = read_rankings(ratings), read_annotations(ratings), None
    if ratings is not None and choices is None and annotations is None:
        judgements = read_ratings(ratings, progress=progress)
    evaluation = measure(
        data,
        TextArguments(sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit),
        MeasureOptions(metrics, sampling=sampling, intervals=intervals, advice=advice),
        CorpusOptions(engine, processes, address),
        progress=progress,
    )
    contents = overview(evaluation, labeller=labeller, audit=audit, ratings=judgements, progress=progress)
    if choices is not None:
        contents = replace(contents, preferences=rank(choices, sampling=sampling))
    if annotations is not None:
        contents = replace(contents, annotations=count_operations(annotations, sampling=sampling))
    result = Report(contents, title or _title(evaluation.evalset.name), gate=gate, command=command, kind=kind)
    if figures is not None:
        result.write_figures(figures, progress=progress)
    if out is not None:  # last, so that nothing can fail when the page is there
        result.write(out)
    return result


def _title(name: str) -> str:
    """Return the title of a public set, or one that contains the name of the file without its directories."""
    if not name:
        return _TITLE
    if name in data_sets.names():
        return data_sets.card(name).title
    file = PurePath(name.replace("\\", "/"))
    return f"Simplifications of {file.name}" if file.suffix else file.name


def plot(result: ScoreTable | SystemScores, metric: str | None = None) -> Figure:
    """Plot scores by one metric (default: the first) with intervals, to show in a notebook or to save."""
    from plainly.reporting.plots import score_plots

    evaluation = result if isinstance(result, ScoreTable) else result.alone
    spec = metric if metric is not None else evaluation.specs[0]
    column = {system: {spec: scores[spec]} for system, scores in evaluation.items()}
    panel = next(score_plots(Overview(replace(evaluation, systems=column))), None)
    if panel is None:
        raise BadInput(f"{spec} is undefined for every system, so there is nothing to plot.")
    return panel.figure

"""Results that people want to look at: a page, figures and tables for papers, plots in notebooks.

Nothing is measured here that ``plainly score``, ``compare``, ``audit``, ``operations`` and ``meta`` do not measure; the
report gathers what they say (``gather``), draws it (``charts``) and writes it down (``document``, ``paper``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from plainly.errors import BadInput
from plainly.files import write_whole
from plainly.pages import paper
from plainly.pages.gather import Tell, gather
from plainly.pages.material import Material
from plainly.pages.render import Plot
from plainly.pages.summary import Sentence, sentences
from plainly.questions.score import Options, asked
from plainly.scoring.scores import Evaluation, SystemScores

if TYPE_CHECKING:
    import altair

__all__ = ["Material", "Report", "plot", "report"]


@dataclass(frozen=True)
class Report:
    """A report, to be written as a page, or as figures and tables; a notebook shows its summary and scores."""

    material: Material = field(repr=False)

    @cached_property
    def plots(self) -> tuple[Plot, ...]:
        """Every plot, in the order of the page."""
        from plainly.pages.charts import plots

        return tuple(plots(self.material))

    @property
    def summary(self) -> list[Sentence]:
        """The report in sentences."""
        return sentences(self.material)

    @cached_property
    def html(self) -> str:
        """The page."""
        from plainly.pages.document import page

        return page(self.material, self.plots)

    def write(self, path: str | Path) -> Path:
        """Write the page and return where it is."""
        write_whole(path, self.html)
        return Path(path)

    def write_figures(self, directory: str | Path, *, formats: Sequence[str] = ("svg", "pdf", "png")) -> list[Path]:
        """Every plot in every format, the table as .tex, .md and .csv, methods.txt and references.bib."""
        target = Path(directory)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"Cannot make the directory {directory}: {error.strerror or error}.") from error
        written = []
        for name, content in self._files(formats):
            write_whole(target / name, content)
            written.append(target / name)
        return written

    def _files(self, formats: Sequence[str]) -> Iterator[tuple[str, str | bytes]]:
        for each in self.plots:
            for form in formats:
                yield f"{each.name}.{form}", getattr(each, form)()
        yield "scores.tex", paper.table(self.material, "latex") + "\n"
        yield "scores.md", paper.table(self.material, "markdown") + "\n"
        yield "scores.csv", paper.table(self.material, "csv") + "\n"
        yield "methods.txt", paper.methods(self.material) + "\n"
        yield "references.bib", paper.bibtex(self.material) + "\n"

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<li>{escape(each.text)}</li>" for each in self.summary)
        return f"<ul>{lines}</ul>{self.material.evaluation._repr_html_()}"


def report(
    data: Any = None,
    *,
    title: str = "",
    labeller: str | None = "rules",
    audit: bool = True,
    ratings: Any = None,
    tell: Tell | None = None,
    **options: Unpack[Options],
) -> Report:
    """A report on scores: ``data`` is what ``score`` takes, or an evaluation that it returned.

    ``labeller`` names who labels operations (None: nobody), ``audit`` says whether tricks are tried on the metrics,
    ``ratings`` are human ratings (see plainly.ratings), and ``tell`` is told what is being done.
    """
    evaluation = asked(data, **options)
    return Report(gather(evaluation, title=title, labeller=labeller, audit=audit, ratings=ratings, tell=tell))


def plot(result: Evaluation | SystemScores, metric: str | None = None) -> altair.TopLevelMixin:
    """Scores by one metric, the first if none is named, with intervals: an Altair chart, which a notebook shows."""
    from plainly.pages.charts import score_plots

    evaluation = result if isinstance(result, Evaluation) else result.alone
    chosen = metric if metric is not None else evaluation.specs[0]
    column = {system: {chosen: of[chosen]} for system, of in evaluation.items()}
    material = Material(
        title="", outputs={}, evalset=evaluation.evalset, evaluation=replace(evaluation, systems=column)
    )
    drawn = next(score_plots(material), None)
    if drawn is None:
        raise BadInput(f"{chosen} is undefined for every system, so there is nothing to plot.")
    return drawn.chart

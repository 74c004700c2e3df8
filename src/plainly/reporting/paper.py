"""For the paper: the table as LaTeX, Markdown and CSV, the methods paragraph with every signature, and BibTeX."""

import math
import re
from collections.abc import Callable, Iterator
from functools import partial

import plainly
from plainly.core import tables
from plainly.core.formatting import interval, label, listed, visible
from plainly.core.result import Table
from plainly.core.tables import wide
from plainly.metrics.evidence import evidence, for_methods, papers
from plainly.reporting.overview import Overview
from plainly.reporting.summary import scope

# Marks that pass through a renderer's escaping; no text that was made visible holds them.
_BEST, _TIED, _END = "\ue000", "\ue001", "\ue002"
_MARKS = {
    "latex": {_BEST: r"\textbf{", _TIED: r"\underline{", _END: "}"},
    "markdown": {_BEST: "**", _TIED: "*", _END: ""},
}


def table(overview: Overview, form: str) -> str:
    """The score table: ``latex``, ``markdown`` or ``csv``. Best in bold, those that cannot be told from it marked."""
    if form == "csv":
        records = wide(overview.evaluation.records())  # as --csv: a row a system
        names = list(dict.fromkeys(name for record in records for name in record))
        return tables.delimited(names, [[record.get(name) for name in names] for record in records])
    rendered = tables.RENDERERS[form](_grid(overview, form))
    for mark, text in _MARKS[form].items():
        rendered = rendered.replace(mark, text)
    if form == "latex":
        rendered += f"\n% {_note(overview)}\n% Needs \\usepackage{{booktabs}}."
    else:
        rendered += f"\n\n{_note(overview)}"
    return rendered


def _grid(overview: Overview, form: str) -> Table:
    arrows = {"higher": "↑", "lower": "↓", "neither": ""}
    if form == "latex":
        arrows = {"higher": "(higher)", "lower": "(lower)", "neither": ""}
    header = ("System", *(f"{spec} {arrows[overview.metric(spec).better]}".strip() for spec in overview.specs))
    rows = tuple(
        (
            re.sub("[\ue000-\ue002]", "", label(system)),
            *(_cell(overview, system, spec, form) for spec in overview.specs),
        )
        for system in overview.systems
    )
    return Table(header, rows)


def _cell(overview: Overview, system: str, spec: str, form: str) -> str:
    value, estimate = overview.value(system, spec), overview.estimate(system, spec)
    if math.isnan(value):
        return "–"
    low, high = (estimate.low, estimate.high) if estimate is not None else (None, None)
    shown, space, brackets = interval(value, low, high).partition(" ")
    mark = {"best": _BEST, "tied": _TIED}.get(overview.standing(spec, system), "")
    end = mark if form == "markdown" else _END if mark else ""  # in Markdown the same stars on both sides
    return f"{mark}{shown}{end}{space}{brackets}"


def _note(overview: Overview) -> str:
    if overview.comparisons is None:
        return f"{scope(overview)}."
    return f"{scope(overview)}. Bold: best; underlined or in italics: no difference from the best may be claimed."


def methods(overview: Overview) -> str:
    """What was done, in a paragraph that can be pasted, with the signature of every number."""
    where = f" on {visible(overview.evalset.name)}" if overview.evalset.name else ""
    text = f"We evaluated {scope(overview)}{where}, with plainly {plainly.__version__}. "
    metrics = [for_methods(overview.metric(spec), spec) for spec in overview.specs]
    text += f"Metrics: {listed(metrics, most=20)}. "
    sampling, estimates, compared = overview.evaluation.sampling, overview.estimates, overview.comparisons
    if estimates and sampling is not None:
        text += f"Intervals are {estimates[0].level:.0%} ({estimates[0].method}, seed {sampling.seed}). "
    if compared is not None:
        further = f", {compared.further:,} where these are too few," if compared.further else ""
        text += (
            f"Differences between systems were tested by {compared.deciding.replace('-', ' ')} "
            f"({compared.trials:,} trials{further} over {compared.unit}, Riezler and Maxwell 2005) at the "
            f"{1 - compared.sampling.level:.0%} level, "
            "with Holm's correction for all pairs within a metric (Holm 1979). "
        )
    if overview.operations is not None:
        text += f"Operations were labelled automatically (labeller: {overview.operations.labeller}). "
    signatures = [str(next(iter(overview.evaluation.values()))[spec].signature) for spec in overview.specs]
    return text + "Signatures: " + "; ".join(signatures) + "."


def bibtex(overview: Overview) -> str:
    """Entries for plainly, the data, the metrics and the statistics that were used."""
    own = (
        f"@software{{plainly, title = {{plainly: evaluation of text simplification}},\n"
        f"  author = {{{{The plainly authors}}}}, version = {{{plainly.__version__}}}}}"
    )
    entries: dict[str, str] = {"plainly": own}
    entries |= {f"data{place}": text for place, text in enumerate(_data(overview))}
    for spec in overview.specs:
        about = evidence(overview.metric(spec))
        cited = [paper.key for paper in (*about.cite, *about.after)]
        if overview.metric(spec).name in ("bleu", "chrf"):
            cited.append("post-2018")
        entries |= {key: papers()[key].bibtex for key in cited}
    methods = ["efron-1993"] if overview.estimates else []
    methods += ["riezler-2005", "holm-1979"] if overview.comparisons is not None else []
    entries |= {key: papers()[key].bibtex for key in methods}
    return "\n\n".join(dict.fromkeys(entries.values()))


def _data(overview: Overview) -> Iterator[str]:
    from plainly import data

    name = overview.evalset.name
    if name in data.names():
        yield data.card(name).citation
        published = set(data.system_names(name)) if data.card(name).kind == "evalset" else set()
        for card in data.cards():
            if card.kind == "outputs" and name in card.of and published & set(overview.systems) & set(card.systems):
                yield card.citation


# What is ready to paste: its title on the page, its file among the figures, and what writes it.
EXPORTS: tuple[tuple[str, str, Callable[[Overview], str]], ...] = (
    ("Methods paragraph", "methods.txt", methods),
    ("Table in LaTeX (booktabs)", "scores.tex", partial(table, form="latex")),
    ("Table in Markdown", "scores.md", partial(table, form="markdown")),
    ("Table in CSV", "scores.csv", partial(table, form="csv")),
    ("BibTeX", "references.bib", bibtex),
)

"""For the paper: the table as LaTeX, Markdown and CSV, the methods paragraph with every signature, and BibTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import plainly
from plainly.pages import evidence
from plainly.pages.material import Material
from plainly.pages.summary import scope
from plainly.pages.words import label, listed, visible
from plainly.render import tables
from plainly.result import Table

# Marks that pass through a renderer's escaping; no text that was made visible holds them.
_BEST, _TIED, _END = "\ue000", "\ue001", "\ue002"
_MARKS = {
    "latex": {_BEST: r"\textbf{", _TIED: r"\underline{", _END: "}"},
    "markdown": {_BEST: "**", _TIED: "*", _END: ""},
}


def table(material: Material, form: str) -> str:
    """The score table: ``latex``, ``markdown`` or ``csv``. Best in bold, those that cannot be told from it marked."""
    if form == "csv":
        records = material.evaluation.records()
        return tables.delimited(list(records[0]), [list(record.values()) for record in records]) if records else ""
    rendered = tables.RENDERERS[form](_grid(material, form))
    for mark, text in _MARKS[form].items():
        rendered = rendered.replace(mark, text)
    if form == "latex":
        rendered += f"\n% {_note(material)}\n% Needs \\usepackage{{booktabs}}."
    else:
        rendered += f"\n\n{_note(material)}"
    return rendered


def _grid(material: Material, form: str) -> Table:
    arrows = {"higher": "↑", "lower": "↓", "neither": ""}
    if form == "latex":
        arrows = {"higher": "(higher)", "lower": "(lower)", "neither": ""}
    header = ("System", *(f"{spec} {arrows[material.metric(spec).better]}".strip() for spec in material.specs))
    rows = tuple(
        (
            re.sub("[\ue000-\ue002]", "", label(system)),
            *(_cell(material, system, spec, form) for spec in material.specs),
        )
        for system in material.systems
    )
    return Table(header, rows)


def _cell(material: Material, system: str, spec: str, form: str) -> str:
    value, estimate = material.value(system, spec), material.estimate(system, spec)
    if math.isnan(value):
        return "–"
    mark = {"best": _BEST, "tied": _TIED}.get(material.standing(spec, system), "")
    end = _END if mark else ""
    if form == "markdown":
        end = mark  # the same stars on both sides
    shown = f"{mark}{value:.2f}{end}"
    if estimate is not None and not math.isnan(estimate.low):
        shown += f" [{estimate.low:.2f}, {estimate.high:.2f}]"
    return shown


def _note(material: Material) -> str:
    if not material.comparisons:
        return f"{scope(material)}."
    return f"{scope(material)}. Bold: best; underlined or in italics: no difference from the best may be claimed."


def methods(material: Material) -> str:
    """What was done, in a paragraph that can be pasted, with the signature of every number."""
    where = f" on {visible(material.evalset.name)}" if material.evalset.name else ""
    text = f"We evaluated {scope(material)}{where}, with plainly {plainly.__version__}. "
    metrics = []
    for spec in material.specs:
        known = evidence.of(material.metric(spec)).papers
        metrics.append(f"{spec} ({known[0].short})" if known else spec)
    text += f"Metrics: {listed(metrics, most=20)}. "
    estimates = [e for system in material.systems for spec in material.specs if (e := material.estimate(system, spec))]
    sampling = material.evaluation.sampling
    if estimates and sampling is not None:
        first = estimates[0]
        text += f"Intervals are {first.level:.0%} ({first.method}, seed {sampling.seed}). "
    compared = next(iter(material.comparisons.values()), None)
    if compared is not None:
        text += (
            f"Differences between systems were tested by {compared.deciding.replace('-', ' ')} "
            f"({compared.trials:,} trials over {compared.unit}, Riezler and Maxwell 2005) at the "
            f"{1 - compared.sampling.level:.0%} level, "
            "with Holm's correction for all pairs within a metric (Holm 1979). "
        )
    if material.operations is not None:
        text += f"Operations were labelled automatically (labeller: {material.operations.labeller}). "
    signatures = [str(next(iter(material.evaluation.values()))[spec].signature) for spec in material.specs]
    return text + "Signatures: " + "; ".join(signatures) + "."


def bibtex(material: Material) -> str:
    """Entries for plainly, the data, the metrics and the statistics that were used."""
    entries: dict[str, str] = {"plainly": _own()}
    entries |= {f"data{place}": text for place, text in enumerate(_data(material))}
    for spec in material.specs:
        entries |= {paper.key: paper.bibtex for paper in evidence.of(material.metric(spec)).papers}
        if material.metric(spec).name in ("bleu", "chrf"):
            entries["post-2018"] = evidence.papers()["post-2018"].bibtex
    if any(material.estimate(system, spec) for system in material.systems for spec in material.specs):
        entries["efron-1993"] = evidence.papers()["efron-1993"].bibtex
    if material.comparisons:
        entries |= {key: evidence.papers()[key].bibtex for key in ("riezler-2005", "holm-1979")}
    return "\n\n".join(dict.fromkeys(entries.values()))


def _own() -> str:
    return (
        f"@software{{plainly, title = {{plainly: evaluation of text simplification}},\n"
        f"  author = {{{{The plainly authors}}}}, version = {{{plainly.__version__}}}}}"
    )


def _data(material: Material) -> Iterator[str]:
    from plainly import data

    name = material.evalset.name
    if name in data.names():
        yield data.card(name).citation
        published = set(data.systems(name)) if data.card(name).kind == "evalset" else set()
        for card in data.cards():
            if card.kind == "outputs" and name in card.of and published & set(material.systems) & set(card.systems):
                yield card.citation

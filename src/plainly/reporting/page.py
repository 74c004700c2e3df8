"""The page: one HTML file with style, script, plots and texts inside, that loads nothing and runs no other script."""

import base64
import hashlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import plainly
from plainly.checks.gate import Gate
from plainly.core.formatting import listed, short, visible
from plainly.metrics.evidence import evidence
from plainly.reporting import paper
from plainly.reporting.item_browser import payload, script_json
from plainly.reporting.overview import Overview
from plainly.reporting.page_tables import gate_section, made, matrices, score_table
from plainly.reporting.panel import Panel
from plainly.reporting.pareto_front import axes
from plainly.reporting.summary import lead, scope
from plainly.reporting.templates import asset, environment, figures
from plainly.reporting.warning_signs import MOST_TRIED

_TALL = 18  # systems in the picture
_SECTIONS: dict[str, list[str]] = tomllib.loads(asset("sections.toml"))


def page(
    overview: Overview,
    title: str,
    draw: Callable[[], Iterable[Panel]],
    *,
    gate: Gate | None = None,
    command: str = "",
) -> str:
    """The whole report as HTML; ``draw`` makes the plots, once it is known that a page can be written."""
    template = environment("A report").get_template("report.html")
    from markupsafe import Markup as safe  # for what is ours or was escaped already

    js = f"{asset('page.js')}{asset('items.js')}"
    plots: dict[str, list[dict[str, Any]]] = {"scores": []}
    for plot in figures(draw()):
        plots.setdefault(plot["section"], []).append(plot)
    sections = list(_sections(overview, plots))
    navigation = _navigation(overview, sections, gated=gate is not None)
    # What stands over the picture is not said again beside it.
    over = [plot["caption"] for plot in plots["scores"][:1]]
    said = [sentence for sentence in overview.summary if sentence.text not in over]
    # Beside a tall picture there is room for all of them.
    first = said if len(overview.systems) > _TALL else lead(said)
    digest = base64.b64encode(hashlib.sha256(js.encode("utf-8")).digest()).decode("ascii")
    return str(
        template.render(
            title=visible(title),
            version=plainly.__version__,
            css=safe(asset("page.css")),
            js=safe(js),
            scripts=safe(f"'sha256-{digest}'"),
            here="",
            navigation=navigation,
            scope=scope(overview),
            lead=first,
            sentences=[sentence for sentence in said if sentence not in first],
            linked={target.removeprefix("#"): name for target, name in navigation},
            plots=plots,
            matrices=matrices(overview),
            gate=gate_section(gate) if gate is not None else None,
            made=made(overview, command),
            sections=sections,
            evidence=[{"spec": spec, **vars(evidence(overview.metric(spec)))} for spec in overview.specs],
            operation_labels=[] if overview.operations is None else list(overview.operations.labels.items()),
            browsable=bool(overview.outputs),
            exports=[{"title": title, "text": text(overview)} for title, _, text in paper.EXPORTS],
            warnings=[{"code": caution.code, "message": visible(caution.message)} for caution in overview.cautions],
            absent=[visible(reason) for reason in overview.left_out],
            data=safe(script_json(payload(overview))) if overview.outputs else safe("null"),
            **score_table(overview),
        )
    )


def _sections(overview: Overview, drawn: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, (_, title, intro) in _SECTIONS.items():
        alarms = overview.alarms if key == "tricks" else ()
        plots = drawn.get(key, [])
        table = overview.facts.rates() if key == "facts" and overview.facts is not None else None
        if key == "preferences" and overview.preferences is not None:
            (table,) = overview.preferences.tables()
        if not plots and not alarms and table is None:
            continue
        yield {
            "id": key,
            "title": title,
            "intro": _intro(overview, key) or intro,
            "plots": plots,
            "alarms": [{"metric": alarm.metric, "message": visible(alarm.message)} for alarm in alarms],
            "table": table,
        }


def _intro(overview: Overview, key: str) -> str:
    if key == "tradeoff" and (chosen := axes(overview.evaluation)):
        simplicity, meaning = chosen
        return (
            f"{simplicity.spec} stands for simplicity and {meaning.spec} for meaning; both are stand-ins. Circles on "
            "the dashed line: no other system is better on both. Triangles: some system is."
        )
    if key == "tricks" and overview.tricks.gains:
        what = {gain.trick: gain.what for gain in overview.tricks.gains}
        tricks = listed([f"{trick} ({done})" for trick, done in what.items()], most=10)
        tried = listed([short(system) for system in overview.tricks.systems])
        return (
            f"Tricks that make text worse, on up to {MOST_TRIED} outputs of {tried}: {tricks}. A metric that improves "
            "is fooled (triangles)."
        )
    if key == "ratings":
        level = 100 * overview.correlations[0].estimate.level
        rated = visible(overview.ratings)
        turned = "signs are turned where lower is better, so that higher agrees better"
        return f"Pearson correlation over the outputs rated in {rated}, with {level:g} % intervals; {turned}."
    return ""


def _navigation(overview: Overview, sections: Sequence[Mapping[str, Any]], *, gated: bool) -> list[tuple[str, str]]:
    links = [("summary", "Summary"), *([("gate", "Gate")] if gated else []), ("scores", "Scores")]
    links += [(section["id"], _SECTIONS[section["id"]][0]) for section in sections]
    links += [("items", "Items"), ("paper", "For a paper")]
    links += [("warnings", "Warnings")] if overview.cautions or overview.left_out else []
    return [(f"#{section}", name) for section, name in (*links, ("made", "How made"))]

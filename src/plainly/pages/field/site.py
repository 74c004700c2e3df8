"""The site: pages from what is known of the field, written whole; nothing is computed here."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import plainly
from plainly.errors import MissingExtra
from plainly.pages.field import contexts
from plainly.pages.field.charts import drawn, moved_plots, people_plot, standings_plot, tricks_plot
from plainly.pages.picture import Plot
from plainly.progress import Progress
from plainly.questions.field import Field
from plainly.render.names import short, visible
from plainly.render.numbers import number
from plainly.render.show import jsonable
from plainly.result import Record

_HERE = Path(__file__).parent
_SHARED = _HERE.parent / "page" / "report.css"
Page = tuple[str, str | bytes]


def pages(field: Field, cache: Path, progress: Progress) -> Iterator[Page]:
    """Every file of the site: its name and its content."""
    render = _renderer(field)
    links = contexts.Links(field)
    drawing = _Drawing(cache, render.safe)
    total = 2 + len(field.sets) + len(field.systems) + len(field.metrics)
    with progress("writing pages", total=total, unit="pages") as tell:
        yield "index.html", render("index", "index", contexts.overview_page(field, links), links)
        tell(1)
        if field.papers:
            shown = contexts.papers_page(field)
            for paper, record in zip(shown["papers"], field.papers, strict=True):
                paper["plots"] = drawing.all(moved_plots(paper["name"], record["cells"]))
            yield "papers.html", render("papers", "papers.html", shown, links)
        tell(1)
        for of_set in field.sets:
            plots = [standings_plot(of_set["name"], spec, of) for spec, of in of_set["standings"].items()]
            shown = {**contexts.set_page(field, of_set, links), "plots": drawing.all(plots)}
            file = links.set[of_set["name"]]
            yield file, render("set", file, shown, links)
            tell(1)
        for metric in field.metrics:
            shown = contexts.metric_page(field, metric, links)
            shown["trick_plots"] = drawing.all([tricks_plot(metric["name"], shown["effects"])])
            shown["people_plots"] = drawing.all([people_plot(metric["name"], metric["people"])])
            file = links.metric[metric["name"]]
            yield file, render("metric", file, shown, links)
            tell(1)
        for system, file in links.system.items():
            yield file, render("system", file, contexts.system_page(field, system, links), links)
            tell(1)
    yield "field.css", "\n".join(path.read_text(encoding="utf-8") for path in (_SHARED, _HERE / "field.css"))
    yield "field.js", (_HERE / "field.js").read_text(encoding="utf-8")
    yield "field.json", json.dumps(jsonable(field.json()), ensure_ascii=False, indent=1)


class _Drawing:
    """Plots for a template, from the cache where they were drawn before."""

    def __init__(self, cache: Path, safe: Callable[[str], Any]) -> None:
        self.cache, self.safe = cache, safe
        cache.mkdir(parents=True, exist_ok=True)

    def all(self, plots: list[Plot] | list[Plot | None]) -> list[Record]:
        return [
            {"name": plot.name, "title": plot.title, "caption": plot.caption, "svg": self.safe(drawn(plot, self.cache))}
            for plot in plots
            if plot is not None
        ]


class _Renderer:
    def __init__(self, environment: Any, field: Field, safe: Callable[[str], Any]) -> None:
        self.environment, self.field, self.safe = environment, field, safe

    def __call__(self, template: str, here: str, shown: Record, links: contexts.Links) -> str:
        sets = [{"name": of_set["name"], "file": links.set[of_set["name"]]} for of_set in self.field.sets]
        papers = [{"name": "Papers", "file": "papers.html"}] if self.field.papers else []
        return str(
            self.environment.get_template(f"{template}.html").render(
                **{**shown, "title": visible(shown["title"])},
                here=here,
                links=links,
                navigation=[*papers, *sets],
                version=plainly.__version__,
                built=self.field.built,
            )
        )


def _renderer(field: Field) -> _Renderer:
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise MissingExtra("The field's pages", package="jinja2", extra="report") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.filters["num"] = lambda value, sign=False: number(value, sign=sign, page=True)
    environment.filters["visible"] = visible
    environment.filters["cut"] = lambda name: name if len(name) <= 40 else f"{short(name)[:38]}…"
    return _Renderer(environment, field, markupsafe.Markup)

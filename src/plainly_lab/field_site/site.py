"""The site: pages from what is known of the field, written whole; nothing is computed here."""

import json
from collections.abc import Iterator

import plainly
from plainly.core.display import visible
from plainly.core.progress import Progress
from plainly.core.result import Record
from plainly.core.tables import jsonable
from plainly.reporting.page import environment, read_style
from plainly.reporting.svg import read_asset
from plainly_lab.field_site import contexts
from plainly_lab.field_site.survey import Field


def pages(field: Field, progress: Progress) -> Iterator[tuple[str, str]]:
    """Every file of the site: its name and its content."""
    templates = environment("The field's pages")
    links = contexts.Links(field)
    navigation = [("index.html", "Overview"), *([("papers.html", "Papers")] if field.papers else [])]
    always = {
        "scripts": "'self' file:",
        "links": links,
        "navigation": [*navigation, *((file, name) for name, file in links.set.items())],
        "version": plainly.__version__,
        "built": field.built,
    }
    total = 1 + bool(field.papers) + len(field.sets) + len(field.metrics) + len(field.systems)
    with progress("writing pages", total=total, unit="pages") as tell:
        for template, file, shown in _contexts(field, links):
            values = {**always, **shown, "title": visible(shown["title"]), "here": file}
            yield file, str(templates.get_template(f"field/{template}.html").render(values))
            tell(1)
    yield "page.css", read_style()
    yield "page.js", read_asset("page.js")
    yield "field.json", json.dumps(jsonable(field.json()), ensure_ascii=False, indent=1)


def _contexts(field: Field, links: contexts.Links) -> Iterator[tuple[str, str, Record]]:
    """For each page its template, its file, and what it shows."""
    yield "index", "index.html", contexts.overview_page(field, links)
    if field.papers:
        yield "papers", "papers.html", contexts.papers_page(field)
    for of_set in field.sets:
        yield "set", links.set[of_set["name"]], contexts.set_page(field, of_set, links)
    for metric in field.metrics:
        yield "metric", links.metric[metric["name"]], contexts.metric_page(field, metric, links)
    for system, file in links.system.items():
        yield "system", file, contexts.system_page(field, system, links)

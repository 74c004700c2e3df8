"""The pages of the site, from what is known of the field: what each shows, as plain values for its template."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev

import plainly
from plainly.auditing.attacks import listing
from plainly.core.formatting import abridged, counted, label, listed, number, visible
from plainly.core.progress import Progress
from plainly.core.result import Note, Record
from plainly.core.tables import jsonable
from plainly.reporting.figures import SIDES
from plainly.reporting.page import environment, read_style, score_cell, show_panels
from plainly.reporting.svg import read_asset
from plainly_lab.field_site.charts import (
    called,
    moved_plots,
    people_plot,
    standing_of,
    standings_plot,
    tricks_plot,
    verdict,
)
from plainly_lab.field_site.findings import FieldMetric, FieldSet, Paper, Standing, Standings
from plainly_lab.field_site.plan import family
from plainly_lab.field_site.survey import Field
from plainly_lab.reproductions.assetann import SYSTEMS
from plainly_lab.reproductions.cells import ORIGINS, VERDICTS, Cell

_MOST_SENTENCES = 3
_MOST_LETTERS = 28  # of a name in the first column of a table
_MOST_OF_A_SET = 12  # systems in the picture of the first page
_MOST_MOVED = 24  # numbers of a paper that are shown at once


@dataclass(frozen=True)
class Links:
    """The file of every page, by what it is about; no two pages share one, on any file system."""

    field: Field

    @cached_property
    def set(self) -> dict[str, str]:
        return _files("set", [of_set.name for of_set in self.field.sets])

    @cached_property
    def system(self) -> dict[str, str]:
        return _files("system", list(self.field.systems))

    @cached_property
    def metric(self) -> dict[str, str]:
        return _files("metric", [metric.name for metric in self.field.metrics])


def _files(kind: str, names: Sequence[str]) -> dict[str, str]:
    files: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        stem = re.sub(r"[^\w.+-]+", "-", name).strip("-")[:80] or "unnamed"
        number = 1
        while (file := f"{kind}-{stem}{'' if number == 1 else f'-{number}'}.html").lower() in taken:
            number += 1
        taken.add(file.lower())
        files[name] = file
    return files


def pages(field: Field, progress: Progress) -> Iterator[tuple[str, str]]:
    """Every file of the site: its name and its content."""
    templates = environment("The field's pages")
    links = Links(field)
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
        for template, file, shown in _pages(field, links):
            values = {**always, **shown, "title": visible(shown["title"]), "here": file}
            yield file, str(templates.get_template(f"field/{template}.html").render(values))
            tell(1)
    yield "page.css", read_style()
    yield "page.js", read_asset("page.js")
    yield "field.json", json.dumps(field.json(), ensure_ascii=False, indent=1)


def _pages(field: Field, links: Links) -> Iterator[tuple[str, str, Record]]:
    """For each page its template, its file, and what it shows."""
    yield "index", "index.html", overview_page(field, links)
    if field.papers:
        yield "papers", "papers.html", papers_page(field)
    for of_set in field.sets:
        yield "set", links.set[of_set.name], set_page(field, of_set, links)
    for metric in field.metrics:
        yield "metric", links.metric[metric.name], metric_page(field, metric, links)
    for system, file in links.system.items():
        yield "system", file, system_page(field, system, links)


def overview_page(field: Field, links: Links) -> Record:
    """The first page: who is best where, the papers, the metrics, the systems, what changed."""
    leads = [{lead["metric"]: lead for lead in _leads(of_set)} for of_set in field.sets]
    columns, panels = [], []
    for of_set in field.sets:
        name, (spec, standings) = of_set.name, next(iter(of_set.standings.items()))
        columns.append({"name": name, "file": links.set[name], "systems": len(standings.systems)})
        panels.append(standings_plot(name, spec, standings, links.system, most=_MOST_OF_A_SET, title=name))
    scores = sum(len(standings.systems) for of_set in field.sets for standings in of_set.standings.values())
    scope = (
        f"{counted(len(field.systems), 'system')} whose outputs are public, on {counted(len(field.sets), 'test set')}: "
        f"{counted(scores, 'score')}, each with an interval and a signature."
    )
    return {
        "title": "The state of text simplification",
        "scope": scope,
        "sentences": list(_findings(field, links)),
        "plots": show_panels(panels),
        "level": _level(field),
        "columns": columns,
        "rows": [
            {"name": metric.name, "cells": [of_set.get(metric.name) for of_set in leads]} for metric in field.metrics
        ],
        "papers": [{**vars(paper), "summary": _tally(paper)} for paper in field.papers],
        "paper_count": counted(len(field.papers), "paper"),
        "metrics": [{"name": metric.name, "measures": metric.evidence.measures} for metric in field.metrics],
        "systems": list(field.systems),
        "changes": field.changes,
        "left_out": field.left_out,
    }


def _findings(field: Field, links: Links) -> Iterator[Record]:
    """Three sentences: whether metrics agree on a winner, what fools them, what becomes of papers."""
    for of_set in field.sets[:1]:
        leads = [lead for lead in _leads(of_set) if lead["better"] != "neither"]
        winners: dict[str, list[str]] = {}
        for lead in leads:
            winners.setdefault(lead["system"], []).append(lead["metric"])
        told = f"On {of_set.name} {counted(len(leads), 'metric')} name {counted(len(winners), 'winner')}: "
        text = told + "; ".join(f"{label(system)} by {listed(by)}" for system, by in winners.items()) + "."
        yield {"text": text, "file": links.set[of_set.name], "link": "See the set"}
    audited = {metric.name: metric.audit.effects for metric in field.metrics if metric.audit}
    if audited:
        fooled = {name: sum(effect.fooled for effect in effects) for name, effects in audited.items()}
        most = max(fooled, key=lambda name: fooled[name])
        total = len(audited[most])
        text = f"Every metric was attacked in {total} ways; {most} is fooled most often, by {fooled[most]} of them."
        yield {"text": text, "file": links.metric[most], "link": "See the metric"}
    moved = [cell for paper in field.papers for cell in paper.cells if cell.sound is not None]
    if moved:
        text = f"{counted(len(moved), 'published number')} of papers, and what they become when computed soundly."
        yield {"text": text, "file": "papers.html", "link": "See the papers"}


def _leads(of_set: FieldSet) -> Iterator[Record]:
    """By each metric the best system of a set, and how many others are tied with it."""
    for spec, standings in of_set.standings.items():
        others = sum(standing.tied for standing in standings.systems)
        best: Record = jsonable(vars(standings.systems[0]))
        yield {**best, "metric": spec, "better": standings.better, "others": others}


def set_page(field: Field, of_set: FieldSet, links: Links) -> Record:
    """A test set: pictures, table, reasons to doubt."""
    standings, doubts = of_set.standings, of_set.doubts
    by_metric = {spec: {row.system: row for row in of.systems} for spec, of in standings.items()}
    first = next(iter(standings.values()))
    ranked = [standing.system for standing in first.systems]
    panels = [standings_plot(of_set.name, spec, of, links.system) for spec, of in standings.items()]
    directed = [spec for spec, of in standings.items() if of.better != "neither"]
    counts = doubts.references
    many = "–".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "no"
    documents = f", {doubts.documents} documents" if doubts.documents else ""
    return {
        **vars(of_set.about),
        "scope": f"{of_set.name}: {doubts.items} items{documents}, references: {many}, {len(ranked)} systems.",
        # The first stands over the picture.
        "sentences": [verdict(spec, standings[spec]) for spec in directed[1 : 1 + _MOST_SENTENCES]],
        "plots": show_panels(panels),
        "compared": _how(first),
        "columns": [
            {"name": called(spec, of), "better": of.better, "hint": SIDES[of.better], "part": False}
            for spec, of in standings.items()
        ],
        "rows": [
            {
                "name": label(system),
                "shown": abridged(system, _MOST_LETTERS),
                "link": links.system[system],
                "cells": [_cell(by_metric[spec][system], of) for spec, of in standings.items()],
            }
            for system in ranked
        ],
        "level": _level(field),
        "clustered": any(of.clusters > 1 for of in standings.values()),
        "signed": _signatures(row.signature for of in standings.values() for row in of.systems),
        "warnings": list(_by_code(doubts.warnings)),
        "alarms": doubts.alarms,
        "reference_systems": doubts.reference_systems,
    }


def _cell(standing: Standing, among: Standings) -> Record:
    """A score as its table shows it; that all systems are one cluster says nothing of any."""
    cluster = standing.cluster if among.clusters > 1 else None
    place = standing_of(standing, among.better)
    return score_cell(standing.value, standing.low, standing.high, place, standing.signature, cluster=cluster)


def _how(standings: Standings) -> str:
    """What "beats" rests on, where systems were compared."""
    if not standings.test:
        return ""
    return (
        f"beats: by {standings.test.replace('-', ' ')} (up to {standings.draws:,} draws), the "
        f"{standings.pairs:,} p-values of a metric corrected together (Holm)"
    )


def _by_code(warnings: Sequence[Note]) -> Iterator[Record]:
    """The first warning of each code, and where else it was seen."""
    same: dict[str, list[Note]] = {}
    for warning in warnings:
        same.setdefault(warning.code, []).append(warning)
    for code, (first, *others) in same.items():
        yield {"code": code, "message": first.message, "more": listed([one.where for one in others if one.where])}


def system_page(field: Field, system: str, links: Links) -> Record:
    """A system: its scores on every set, its trainings, what was published of it, reasons to doubt."""
    of_sets = field.systems[system]
    scored = [(name, spec, *both) for name, of in of_sets.items() for spec, both in of.items()]
    specs = [metric.name for metric in field.metrics if any(metric.name in of for of in of_sets.values())]
    rows = [
        {"name": spec, "cells": [_cell(*of[spec]) if spec in of else None for of in of_sets.values()]} for spec in specs
    ]
    sentences = [
        f"On {name} by {spec}: place {row.rank} of {len(among.systems)}"
        + (f", cluster {row.cluster} of {among.clusters}." if among.clusters > 1 else ".")
        for name, of in of_sets.items()
        for spec, (row, among) in list(of.items())[:1]
    ]
    seeds = [
        {"name": f"{name}: {spec}", "values": row.seeds, "mean": _mean(row.seeds), "signature": row.signature}
        for name, spec, row, _ in scored
        if row.seeds
    ]
    published = list(_published(field, system))
    return {
        "title": system,
        "scope": f"Its outputs for {listed(list(of_sets))}, as their authors published them.",
        "sentences": sentences[:_MOST_SENTENCES],
        "columns": [{"name": name, "file": links.set[name]} for name in of_sets],
        "rows": rows,
        "clustered": any(among.clusters > 1 for *_, among in scored),
        "seeds": seeds,
        "most_seeds": max((len(row["values"]) for row in seeds), default=0),
        "level": _level(field),
        "signed": _signatures(row.signature for _, _, row, _ in scored),
        "published": published,
        "recipes": list(dict.fromkeys(cell["recipe"] for cell in published)),
        "doubts": list(_doubts(field, system)),
    }


def _mean(values: Sequence[float]) -> str:
    return f"{number(fmean(values))} ± {number(stdev(values))}" if len(values) > 1 else number(values[0])


def _published(field: Field, system: str) -> Iterator[Record]:
    """The cells of papers whose row is this system."""
    for paper in field.papers:
        for cell in paper.cells:
            names = SYSTEMS.get(cell.row, (cell.row,)) if paper.name == "assetann" else ()
            if system in map(family, names):
                yield {**_show_cell(cell), "paper": paper.name}


def _doubts(field: Field, system: str) -> Iterator[Record]:
    for of_set in field.sets:
        messages = [*of_set.doubts.alarms_of.get(system, ())]
        messages += [warning.message for warning in of_set.doubts.warnings if warning.where == system]
        yield from ({"set": of_set.name, "message": message} for message in messages)


def metric_page(field: Field, metric: FieldMetric, links: Links) -> Record:
    """A metric: what fools it, whom it agrees with, who leads by it."""
    name, audit = metric.name, metric.audit
    leads = [
        {
            **lead,
            "name": of_set.name,
            "file": links.set[of_set.name],
            "systems": len(of_set.standings[name].systems),
            "clusters": of_set.standings[name].clusters,
        }
        for of_set in field.sets
        for lead in _leads(of_set)
        if lead["metric"] == name
    ]
    audited = ""
    if audit:
        audited = (
            f"Attacks on {listed(audit.systems)} ({audit.test_set}, {audit.items} items, "
            f"{counted(audit.trials, 'trial')}, seed {audit.seed}): a change that makes outputs worse should "
            "not improve the score."
        )
    effects = sorted(
        jsonable(audit.json()["effects"]) if audit else [],
        key=lambda effect: (-(effect["wrong_spreads"] or 0), -(effect["spreads"] or 0)),
    )
    signature = audit.signature if audit else ""
    signed = [*(lead["signature"] for lead in leads), *(row.signature for row in metric.people), signature]
    return {
        "title": name,
        "scope": f"{metric.evidence.measures} {SIDES[metric.better].capitalize()}.",
        "blind": metric.evidence.blind,
        "advice": metric.evidence.advice,
        "papers": metric.evidence.papers,
        "people": jsonable([row.json() for row in metric.people]),
        "verdict": audit.verdict if audit else "",
        "audited": audited,
        "effects": effects,
        "plots": show_panels(
            [tricks_plot(name, audit.effects if audit else (), signature), people_plot(name, metric.people)]
        ),
        "signature": signature,
        "leads": leads,
        "signed": _signatures(signed),
    }


def papers_page(field: Field) -> Record:
    """What the numbers of papers become when they are computed soundly."""
    papers = []
    for paper in field.papers:
        cells = list(map(_show_cell, paper.cells))
        moved = [cell for cell in cells if cell["raw"]["sound"] is not None]
        moved.sort(key=lambda cell: -abs(cell["raw"]["digits"] or 0))
        papers.append(
            {
                **vars(paper),
                "summary": _tally(paper),
                "public": _attacked(field) if paper.why else None,
                "moved": moved[:_MOST_MOVED],
                "less": moved[_MOST_MOVED:],
                "others": [cell for cell in cells if cell["raw"]["sound"] is None],
                "plots": show_panels(moved_plots(paper.name, paper.cells)),
                "recipes": list(dict.fromkeys(cell["recipe"] for cell in cells)),
            }
        )
    computed = [paper for paper in papers if not paper["why"]]
    total = sum(len(paper.cells) for paper in field.papers if not paper.why)
    scope = (
        f"{counted(total, 'printed number')} of {counted(len(computed), 'paper')} computed again from public files. "
        "Three numbers stand side by side: what was printed; what the paper's own recipe gives, artefacts of its files "
        "and all; and what it becomes without them."
    )
    sentences = [
        f"{paper['title']}: {cell['row']}, {cell['column']} is printed as {cell['published']}; soundly it is "
        f"{cell['sound']}."
        for paper in computed
        for cell in paper["moved"][:1]
    ]
    return {"title": "What the numbers of papers become", "scope": scope, "sentences": sentences, "papers": papers}


def _attacked(field: Field) -> Record | None:
    """The attacks of the paper whose outputs are licensed, tried on public outputs: what each metric gains."""
    audits = {metric.name: metric.audit for metric in field.metrics if metric.audit}
    if not audits:
        return None
    by_metric = {name: {effect.attack: effect for effect in audit.effects} for name, audit in audits.items()}
    first = next(iter(audits.values()))
    rows = [
        {"attack": name, "what": attack["what"], "effects": [of[name] for of in by_metric.values()]}
        for attack in listing().records()
        if attack["paper"] and all((name := attack["attack"]) in of for of in by_metric.values())
    ]
    return {
        "specs": list(by_metric),
        "rows": rows,
        "on": f"{listed(first.systems)} ({first.test_set}, {first.items} items)",
        "signed": _signatures(audit.signature for audit in audits.values()),
        "signatures": [audit.signature for audit in audits.values()],
    }


def _show_cell(cell: Cell) -> Record:
    """A cell as it is shown: at the printed precision, with what is not known as a dash."""
    moved = None if cell.sound is None or cell.published is None else cell.sound - cell.published
    raw = {origin: getattr(cell, origin) for origin in ORIGINS} | {"moved": moved}
    shown = {origin: number(value, cell.decimals, page=True) for origin, value in raw.items()}
    shown["moved"] = number(moved, cell.decimals, sign=True, page=True)
    raw["digits"] = None if moved is None else moved * 10**cell.decimals
    return {**cell.json(), **shown, "raw": raw}


def _tally(paper: Paper) -> str:
    if paper.why:
        return "Its outputs are licensed; name them to have it computed."
    counts = {verdict: sum(cell.verdict == verdict for cell in paper.cells) for verdict in VERDICTS}
    sound = sum(cell.sound is not None for cell in paper.cells)
    verdicts = listed([f"{count} {verdict}" for verdict, count in counts.items() if count])
    return f"{counted(len(paper.cells), 'number')} computed again: {verdicts}. {sound} have a sound value beside."


def _signatures(signatures: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, signatures)))


def _level(field: Field) -> str:
    standings = (standings for of_set in field.sets for standings in of_set.standings.values())
    levels = (standing.level for of in standings for standing in of.systems if standing.level)
    return next((f"{level:.0%}" for level in levels), "")

"""The pages of the site: the values that fill each template, and the plots."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import plainly
from plainly import data
from plainly.auditing.attacks import list_attacks
from plainly.auditing.verdicts import Effect
from plainly.core.formatting import abridge, count_noun, interval, label, listed, number, short, visible
from plainly.core.progress import Progress
from plainly.core.registry import display_name
from plainly.core.result import Note, Record
from plainly.core.tables import jsonable
from plainly.reporting.figures import SIDES, Panel, Strip, Strips, slug
from plainly.reporting.page import environment, score_cell, show_panels
from plainly.reporting.plots import draw_gains
from plainly.reporting.svg import read_asset, read_style
from plainly_lab.field_site.findings import Agreement, Field, FieldMetric, FieldSet, Paper, Standing, Standings
from plainly_lab.field_site.tasks import family
from plainly_lab.grids import DEMO, format_mean
from plainly_lab.reproductions.assetann import SYSTEMS
from plainly_lab.reproductions.cells import ORIGINS, VERDICTS, Cell

Links = Mapping[str, Mapping[str, str]]  # set, system or metric → name → file
_MOST_SENTENCES = 3
_MOST_ENTRIES = 8  # of the navigation
_MOST_LETTERS = 28  # of a name in the first column of a table
_MOST_OF_A_SET = 12  # systems in the picture of the first page
_MOST_MOVED = 24  # numbers of a paper that are shown at once
_FEWEST_MOVED = 3  # rows of a plot of published and sound numbers
_MOST_SYSTEMS = 30  # rows of a plot of scores; the table below has all


def _name_files(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Return the file of every page of a kind; no two pages share one, on any file system."""
    files: dict[str, str] = {}
    lower_case: set[str] = set()
    for name in names:
        stem = re.sub(r"[^\w.+-]+", "-", name).strip("-")[:80] or "unnamed"
        number = 1
        while (file := f"{kind}-{stem}{'' if number == 1 else f'-{number}'}.html").lower() in lower_case:
            number += 1
        lower_case.add(file.lower())
        files[name] = file
    return files


def render_pages(field: Field, progress: Progress) -> Iterator[tuple[str, str]]:
    """Yield every file of the site: its name and its content."""
    templates = environment("The field's pages")
    templates.filters |= {"system": lambda name: visible(data.system_title(name)), "metric": display_name}
    links = {
        "set": _name_files("set", [test_set.name for test_set in field.sets]),
        "system": _name_files("system", field.systems),
        "metric": _name_files("metric", [metric.name for metric in field.metrics]),
    }
    navigation = [("index.html", "Overview"), ("changes.html", "Changes")]
    navigation += [("papers.html", "Papers")] if field.papers else []
    sets = list(links["set"].items())
    if len(navigation) + len(sets) > _MOST_ENTRIES:  # the first page has a table of them
        sets = [("index.html#sets", "Test sets")]
    else:
        sets = [(file, name) for name, file in sets]
    always = {
        "scripts": "'self' file:",
        "links": links,
        "navigation": [*navigation, *sets],
        "version": plainly.__version__,
        "built": field.built,
    }
    total = 2 + bool(field.papers) + len(field.sets) + len(field.metrics) + len(field.systems)
    with progress("writing pages", total=total, unit="pages") as tell:
        for template, file, content in _fill_pages(field, links):
            values = {**always, **content, "title": visible(content["title"]), "here": file}
            yield file, str(templates.get_template(f"field/{template}.html").render(values))
            tell(1)
    yield "page.css", read_style()
    yield "page.js", read_asset("page.js")
    yield "field.json", json.dumps(field.json(), ensure_ascii=False, indent=1)


def _fill_pages(field: Field, links: Links) -> Iterator[tuple[str, str, Record]]:
    """Yield the template, the file and the values of each page."""
    yield "index", "index.html", fill_overview(field, links)
    yield "changes", "changes.html", fill_changes(field)
    if field.papers:
        yield "papers", "papers.html", fill_papers(field)
    for test_set in field.sets:
        yield "set", links["set"][test_set.name], fill_set(field, test_set, links)
    for metric in field.metrics:
        yield "metric", links["metric"][metric.name], fill_metric(field, metric, links)
    for system, file in links["system"].items():
        yield "system", file, fill_system(field, system, links)


def fill_overview(field: Field, links: Links) -> Record:
    """Return the values of the first page: the best systems, papers, metrics, all systems, changes."""
    columns, panels = [], []
    for name, test_set in zip(links["set"], field.sets, strict=True):
        spec, standings = next(iter(test_set.standings.items()))
        columns.append({"name": name, "file": links["set"][name], "systems": len(standings.systems)})
        panels.append(plot_standings(name, spec, standings, links["system"], most=_MOST_OF_A_SET, title=name))
    scores = sum(len(standings.systems) for test_set in field.sets for standings in test_set.standings.values())
    scope = (
        f"{count_noun(len(field.systems), 'system')} whose outputs are public, on "
        f"{count_noun(len(field.sets), 'test set')}: {count_noun(scores, 'score')}, each with an interval and a "
        "signature."
    )
    return {
        "title": "The state of text simplification",
        "scope": scope,
        "sentences": list(_findings(field, links)),
        "plots": show_panels(panels),
        "level": _level(field),
        "columns": columns,
        "leads": [{lead["metric"]: lead for lead in _leads(test_set)} for test_set in field.sets],
        "summaries": {paper.name: _summarise(paper) for paper in field.papers},
        "systems": sorted(field.systems, key=lambda name: data.system_title(name).casefold()),
        "paper_count": count_noun(len(field.papers), "paper"),
        "field": field,
    }


def fill_changes(field: Field) -> Record:
    """Return the values of the page about changes: this build and those before it."""
    builds = [{"built": field.built, "changes": field.changes}, *field.history]
    earlier = count_noun(len(field.history), "earlier one")
    return {
        "title": "What changed between builds",
        "scope": f"What was added, removed and changed, in this build and in {earlier}.",
        "sentences": [],
        "builds": builds,
        "left_out": field.left_out,
    }


def _findings(field: Field, links: Links) -> Iterator[Record]:
    """Yield three sentences: whether metrics agree on a winner, what fools them, how papers' numbers change."""
    for test_set in field.sets[:1]:
        winners: dict[str, list[str]] = {}
        for lead in _leads(test_set):
            winners.setdefault(lead["system"], []).append(display_name(lead["metric"]))
        first = "; ".join(f"{label(data.system_title(system))} by {listed(by)}" for system, by in winners.items())
        text = f"Best on {test_set.name}: {first}."
        if winners:
            yield {"text": text, "file": links["set"][test_set.name], "link": "See the set"}
    successes = {
        metric.name: [effect.fooled for effect in metric.audit.effects] for metric in field.metrics if metric.audit
    }
    if successes:
        name, of_metric = max(successes.items(), key=lambda entry: sum(entry[1]))
        ways = f"Every metric was attacked in {len(of_metric)} ways"
        text = f"{ways}; {display_name(name)} is fooled most often, by {sum(of_metric)} of them."
        yield {"text": text, "file": links["metric"][name], "link": "See the metric"}
    if sound := sum(cell.sound is not None for paper in field.papers for cell in paper.cells):
        text = f"{count_noun(sound, 'published number')} of papers, and what they become when computed soundly."
        yield {"text": text, "file": "papers.html", "link": "See the papers"}


def _leads(test_set: FieldSet) -> Iterator[Record]:
    """Yield the best system of a set by each metric that has a better side, and how many others are tied with it."""
    for spec, standings in test_set.standings.items():
        if standings.better == "neither":
            continue
        yield {
            **jsonable(vars(standings.systems[0])),
            "metric": spec,
            "others": sum(standing.tied for standing in standings.systems),
            "systems": len(standings.systems),
            "clusters": standings.clusters,
        }


def fill_set(field: Field, test_set: FieldSet, links: Links) -> Record:
    """Return the values of a test set's page: pictures, table, reasons to doubt."""
    standings, doubts = test_set.standings, test_set.doubts
    by_metric, systems = test_set.by_metric, test_set.systems
    panels = [plot_standings(test_set.name, spec, of, links["system"]) for spec, of in standings.items()]
    specs = [spec for spec, of in standings.items() if of.better != "neither"]
    counts = doubts.references
    many = "–".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "no"
    documents = f", {doubts.documents} documents" if doubts.documents else ""
    return {
        **test_set.about,
        "scope": f"{test_set.name}: {doubts.items} items{documents}, references: {many}, {len(systems)} systems.",
        "partial": _find_partial(test_set),
        "items": doubts.items,
        # The first stands over the picture.
        "sentences": [verdict(spec, standings[spec]) for spec in specs[1 : 1 + _MOST_SENTENCES]],
        "plots": show_panels(panels),
        "compared": _describe_test(next(iter(standings.values()))),
        "columns": [
            {"name": name_column(spec, of), "better": of.better, "hint": SIDES[of.better], "part": False}
            for spec, of in standings.items()
        ],
        "rows": [
            {
                "name": label(data.system_title(system)),
                "shown": abridge(data.system_title(system), _MOST_LETTERS),
                "link": links["system"][system],
                "cells": [_cell(by_metric[spec][system], of) for spec, of in standings.items()],
            }
            for system in systems
        ],
        "level": _level(field),
        "clustered": any(of.clusters > 1 for of in standings.values()),
        "signed": _signatures(row.signature for of in standings.values() for row in of.systems),
        "warnings": list(_group_warnings(doubts.warnings, systems)),
        "alarms": [(alarm.metric, _with_titles(alarm.message, systems)) for alarm in doubts.alarms],
        "reference_systems": doubts.reference_systems,
    }


def _find_partial(test_set: FieldSet) -> list[Record]:
    """Return the systems that lack outputs, those that lack most first, and of how many items they have one."""
    standings = next(iter(test_set.standings.values()))
    rows = sorted((row for row in standings.systems if row.n < test_set.doubts.items), key=lambda row: row.n)
    return [{"system": row.system, "missing": test_set.doubts.items - row.n} for row in rows]


def _cell(standing: Standing, among: Standings) -> Record:
    """Return a score for a table; a single cluster of all systems is not shown."""
    cluster = standing.cluster if among.clusters > 1 else None
    place = describe_standing(standing, among.better)
    return score_cell(standing.value, standing.low, standing.high, place, standing.signature, cluster=cluster)


def _describe_test(standings: Standings) -> str:
    """Describe the test behind "beats", if systems were compared."""
    if not standings.test:
        return ""
    return (
        f"beats: by {standings.test.replace('-', ' ')} (up to {standings.draws:,} draws), the "
        f"{standings.pairs:,} p-values of a metric corrected together (Holm)"
    )


def _with_titles(text: str, systems: Iterable[str]) -> str:
    """Return a text with the readable names of systems instead of the names of their files."""
    for system in sorted(systems, key=len, reverse=True):
        text = text.replace(short(system), data.system_title(system))
    return text


def _group_warnings(warnings: Sequence[Note], systems: Sequence[str]) -> Iterator[Record]:
    """Yield the first warning of each code, and where else it occurs."""
    same: dict[str, list[Note]] = {}
    for warning in warnings:
        same.setdefault(warning.code, []).append(warning)
    for code, (first, *others) in same.items():
        more = listed([data.system_title(family(one.where)) for one in others if one.where])
        yield {"code": code, "message": _with_titles(first.message, systems), "more": more}


def fill_system(field: Field, system: str, links: Links) -> Record:
    """Return the values of a system's page: scores on every set, trainings, published scores, reasons to doubt."""
    by_set = field.systems[system]
    scores = [(name, spec, *both) for name, of in by_set.items() for spec, both in of.items()]
    specs = [metric.name for metric in field.metrics if any(metric.name in of for of in by_set.values())]
    rows = [
        {"name": spec, "cells": [_cell(*of[spec]) if spec in of else None for of in by_set.values()]} for spec in specs
    ]
    sentences = [
        f"On {name} by {display_name(spec)}: place {row.rank} of {len(among.systems)}"
        + (f", cluster {row.cluster} of {among.clusters}." if among.clusters > 1 else ".")
        for name, of in by_set.items()
        for spec, (row, among) in [entry for entry in of.items() if entry[1][1].better != "neither"][:1]
    ]
    seeds = [
        {
            "name": f"{name}: {display_name(spec)}",
            "values": row.seeds,
            "mean": format_mean(row.seeds),
            "signature": row.signature,
        }
        for name, spec, row, _ in scores
        if row.seeds
    ]
    doubts: list[tuple[str, str]] = []
    for test_set in field.sets:
        warnings = [warning.message for warning in test_set.doubts.warnings if warning.where == system]
        doubts += [(test_set.name, message) for message in (*test_set.doubts.alarms_of.get(system, ()), *warnings)]
    published = list(_find_published(field, system))
    return {
        "title": data.system_title(system),
        "scope": f"{system}: its outputs for {listed(list(by_set))}, as they were published.",
        "about": list(_group_papers(data.describe_system(system, *(name for name in by_set if name != DEMO)))),
        "samples": [
            (test_set.name, name_column(spec, of), test_set.samples[system])
            for test_set in field.sets
            for spec, of in [_first_decided(test_set)]
            if system in test_set.samples
        ],
        "sentences": sentences[:_MOST_SENTENCES],
        "columns": [{"name": name, "file": links["set"][name]} for name in by_set],
        "rows": rows,
        "clustered": any(among.clusters > 1 for *_, among in scores),
        "seeds": seeds,
        "most_seeds": max((len(row["values"]) for row in seeds), default=0),
        "level": _level(field),
        "signed": _signatures(row.signature for _, _, row, _ in scores),
        "published": published,
        "recipes": list(dict.fromkeys(cell["recipe"] for cell in published)),
        "doubts": doubts,
    }


def _group_papers(papers: Iterable[data.SystemPaper]) -> Iterator[tuple[data.SystemPaper, list[data.SystemPaper]]]:
    """Yield each paper once, with all outputs that it describes."""
    groups: dict[str, list[data.SystemPaper]] = {}
    for paper in papers:
        groups.setdefault(paper.title, []).append(paper)
    yield from ((group[0], group) for group in groups.values())


def _first_decided(test_set: FieldSet) -> tuple[str, Standings]:
    """Return the first metric of a set that has a better side, by which its samples were chosen."""
    standings = test_set.standings
    spec = next((spec for spec, of in standings.items() if of.better != "neither"), next(iter(standings)))
    return spec, standings[spec]


def _find_published(field: Field, system: str) -> Iterator[Record]:
    """Yield the cells of papers whose row is this system."""
    for paper in field.papers:
        for cell in paper.cells:
            names = SYSTEMS.get(cell.row, (cell.row,)) if paper.name == "assetann" else ()
            if system in map(family, names):
                yield {**_show_cell(cell), "paper": paper.name}


def fill_metric(field: Field, metric: FieldMetric, links: Links) -> Record:
    """Return the values of a metric's page: what fools it, how it agrees with people, the leaders."""
    name, audit = metric.name, metric.audit
    leads = [
        {**lead, "name": test_set.name, "file": links["set"][test_set.name]}
        for test_set in field.sets
        for lead in _leads(test_set)
        if lead["metric"] == name
    ]
    panels = [plot_correlations(name, metric.people)]
    audit_text, signature, effects = "", "", []
    if audit:
        signature = audit.signature
        panels.insert(0, plot_attacks(name, audit.effects, signature))
        audit_text = (
            f"Attacks on {listed(audit.systems)} ({audit.test_set}, {audit.items} items, "
            f"{count_noun(audit.trials, 'trial')}, seed {audit.seed}): a change that makes outputs worse should "
            "not improve the score."
        )
        effects = audit.json()["effects"]
        effects.sort(key=lambda effect: (-(effect["wrong_spreads"] or 0), -(effect["spreads"] or 0)))
    all_signatures = [*(lead["signature"] for lead in leads), *(row.signature for row in metric.people), signature]
    return {
        "title": display_name(name),
        "scope": f"{metric.evidence.measures} {SIDES[metric.better].capitalize()}.",
        "evidence": metric.evidence,
        "people": jsonable([row.json() for row in metric.people]),
        "verdict": audit.verdict.replace(name, display_name(name), 1) if audit else "",
        "audited": audit_text,
        "effects": effects,
        "plots": show_panels(panels),
        "signature": signature,
        "leads": leads,
        "signed": _signatures(all_signatures),
    }


def fill_papers(field: Field) -> Record:
    """Return the values of the page about papers: published numbers beside sound ones."""
    papers = []
    for paper in field.papers:
        cells = list(map(_show_cell, paper.cells))
        sound = [cell for cell in cells if cell["raw"]["sound"] is not None]
        sound.sort(key=lambda cell: -abs(cell["raw"]["digits"] or 0))
        papers.append(
            {
                **vars(paper),
                "summary": _summarise(paper),
                "public": _tabulate_attacks(field) if paper.why else None,
                "moved": sound[:_MOST_MOVED],
                "less": sound[_MOST_MOVED:],
                "others": [cell for cell in cells if cell["raw"]["sound"] is None],
                "plots": show_panels(plot_moves(paper.name, paper.cells)),
                "recipes": list(dict.fromkeys(cell["recipe"] for cell in cells)),
            }
        )
    reproductions = [paper for paper in papers if not paper["why"]]
    total = sum(len(paper["cells"]) for paper in reproductions)
    scope = (
        f"{count_noun(total, 'printed number')} of {count_noun(len(reproductions), 'paper')}, computed again from "
        "public files. Three numbers stand side by side: the printed one, what the paper's own recipe gives (with the "
        "artefacts of its files), and the value without them."
    )
    sentences = [
        f"{paper['title']}: {cell['row']}, {cell['column']} is printed as {cell['published']}; soundly it is "
        f"{cell['sound']}."
        for paper in reproductions
        for cell in paper["moved"][:1]
    ]
    return {"title": "What the numbers of papers become", "scope": scope, "sentences": sentences, "papers": papers}


def _tabulate_attacks(field: Field) -> Record | None:
    """Return the effects on public outputs of the attacks from the paper whose outputs are licensed."""
    audits = {metric.name: metric.audit for metric in field.metrics if metric.audit}
    if not audits:
        return None
    by_metric = {name: {effect.attack: effect for effect in audit.effects} for name, audit in audits.items()}
    first = next(iter(audits.values()))
    rows = [
        {"attack": name, "what": attack["what"], "effects": [of[name] for of in by_metric.values()]}
        for attack in list_attacks().records()
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
    """Return a cell at its printed precision, with a dash for unknown values."""
    change = None if cell.sound is None or cell.published is None else cell.sound - cell.published
    raw = {origin: getattr(cell, origin) for origin in ORIGINS} | {"moved": change}
    texts = {origin: number(value, cell.decimals, page=True) for origin, value in raw.items()}
    texts["moved"] = number(change, cell.decimals, sign=True, page=True)
    raw["digits"] = None if change is None else change * 10**cell.decimals
    return {**cell.json(), **texts, "raw": raw}


def _summarise(paper: Paper) -> str:
    if paper.why:
        return "Its outputs are licensed. Pass --newsela DIR to compute it."
    counts = Counter(cell.verdict for cell in paper.cells)
    sound = sum(cell.sound is not None for cell in paper.cells)
    verdicts = listed([f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]])
    return f"{count_noun(len(paper.cells), 'number')} computed again: {verdicts}. {sound} have a sound value beside."


def _signatures(signatures: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, signatures)))


def _level(field: Field) -> str:
    standings = (standings for test_set in field.sets for standings in test_set.standings.values())
    levels = (standing.level for of in standings for standing in of.systems if standing.level)
    return next((f"{level:.0%}" for level in levels), "")


def verdict(spec: str, standings: Standings) -> str:
    """Return a sentence about the best system by a metric and whether the difference is significant."""
    best, *others = standings.systems
    if standings.better == "neither":
        return f"By {display_name(spec)}, neither more nor less is better."
    score = interval(best.value, best.low, best.high, page=True)
    text = f"By {display_name(spec)}, {short(data.system_title(best.system))} scores best: {score}."
    ties = sum(standing.tied for standing in others)
    if not others or not standings.test:
        return text
    return text + (f" {ties} of {len(others)} others cannot be told from it." if ties else " It beats all others.")


def name_column(spec: str, standings: Standings) -> str:
    """Return the heading of a metric, with the output that is compared if it has another name."""
    name = display_name(spec)
    return name if standings.output == spec.partition("(")[0] else f"{name}: {standings.output}"


def plot_standings(
    name: str, spec: str, standings: Standings, links: Mapping[str, str], *, most: int = _MOST_SYSTEMS, title: str = ""
) -> Panel | None:
    """Plot the scores of a set's systems by one metric with their intervals; of many systems, the best."""
    ranking = [standing for standing in standings.systems if not math.isnan(standing.value)]
    if not ranking:
        return None
    rows = tuple(_score_row(spec, standing, standings, links[standing.system]) for standing in ranking[:most])
    caption = verdict(spec, standings) + f" Shown: the first {most} of {len(ranking)}." * (len(ranking) > most)
    if title:
        caption = f"On {title}, {caption[0].lower()}{caption[1:]}"
    clusters = [standing.cluster for standing in ranking]
    ends = frozenset(at for at in range(1, len(rows)) if clusters[at - 1] != clusters[at])
    figure = Strips(rows, f"{name_column(spec, standings)}, {SIDES[standings.better]}", ends=ends)
    return Panel(f"{slug(name)}-{slug(spec)}", "scores", title or display_name(spec), caption, figure)


def _score_row(spec: str, standing: Standing, standings: Standings, link: str) -> Strip:
    value, low, high = standing.value, standing.low, standing.high
    kind = describe_standing(standing, standings.better)
    name = abridge(data.system_title(standing.system))
    details = [
        label(standing.system) if name != label(standing.system) else "",
        f"{display_name(spec)} {interval(value, low, high, page=True)}",
        {"best": "best", "tied": "cannot be told from the best"}.get(kind, ""),
        f"cluster {standing.cluster} of {standings.clusters}" if standings.clusters > 1 else "",
        standing.signature,
    ]
    return Strip(name, value, low, high, kind=kind or "other", details="; ".join(filter(None, details)), link=link)


def describe_standing(standing: Standing, better: str) -> str:
    """Return ``best``, ``tied`` with the best, or an empty text if neither or if no side is better."""
    if better == "neither":
        return ""
    return "best" if standing.best else "tied" if standing.tied else ""


def plot_attacks(spec: str, effects: Sequence[Effect], signature: str) -> Panel | None:
    """Plot what each attack gains, in distances from the worst to the best system."""
    harmful = [effect for effect in effects if not math.isnan(effect.spreads) and effect.expected == "worse"]
    if not harmful:
        return None
    successes = sum(effect.fooled for effect in harmful)
    caption = (
        f"{successes} of {count_noun(len(harmful), 'attack')} that harm an output improve its score (triangles). "
        "A gain of 1 (dashed line) is the distance from the worst system to the best."
    )
    figure = draw_gains(sorted(harmful, key=lambda effect: -effect.spreads), signature)
    return Panel(f"tricks-{slug(spec)}", "tricks", f"{display_name(spec)} under attack", caption, figure)


def plot_correlations(spec: str, rows: Sequence[Agreement]) -> Panel | None:
    """Plot the correlations of a metric with ratings."""
    strips = []
    for row in rows:
        estimate = row.correlation.estimate
        if math.isnan(estimate.value) or row.correlation.unit != "item":
            continue
        score = interval(estimate.value, estimate.low, estimate.high, page=True)
        details = f"{score}; {count_noun(estimate.n, 'output')}; {row.signature}"
        what = f"{row.correlation.dimension.replace('_', ' ')}, {row.ratings}"
        strips.append(Strip(what, estimate.value, estimate.low, estimate.high, details=details))
    if not strips:
        return None
    best = max(strips, key=lambda strip: strip.value)
    caption = f"Strongest: {best.name}, {best.text}."
    figure = Strips(tuple(strips), "Pearson correlation over outputs", share=True)
    return Panel(f"people-{slug(spec)}", "people", f"{display_name(spec)} and people", caption, figure)


def plot_moves(paper: str, cells: Sequence[Cell]) -> Iterator[Panel]:
    """Plot published beside sound numbers, for the columns of tables in which they differ most."""
    by_column: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.sound is not None and cell.published is not None:
            by_column.setdefault((cell.table, cell.column), []).append(cell)
    farthest = sorted(by_column, key=lambda key: -max(map(_distance, by_column[key])))
    for table, column in farthest[:3]:
        cells_of_column = by_column[table, column][:_MOST_MOVED]
        if max(map(_distance, cells_of_column)) < 1 or len(cells_of_column) < _FEWEST_MOVED:
            continue
        shift = sum(cell.value("sound") - cell.value("published") for cell in cells_of_column) / len(cells_of_column)
        average = number(shift, cells_of_column[0].decimals, sign=True, page=True)
        caption = f"Triangles: published; circles: computed soundly. On average {average}."
        rows = tuple(_move_row(cell) for cell in sorted(cells_of_column, key=lambda cell: -cell.value("sound")))
        name = f"moved-{slug(paper)}-{slug(table)}-{slug(column)}"
        yield Panel(name, "papers", f"{column}, table {table}", caption, Strips(rows, column))


def _distance(cell: Cell) -> float:
    """Return how far a number moves, in units of its last printed digit."""
    return float(abs(cell.value("sound") - cell.value("published")) * 10**cell.decimals)


def _move_row(cell: Cell) -> Strip:
    previous, now = cell.value("published"), cell.value("sound")
    published, sound = (number(value, cell.decimals, page=True) for value in (previous, now))
    details = f"published {published}, soundly {sound}; {cell.recipe}"
    return Strip(cell.row, now, min(previous, now), max(previous, now), label=sound, details=details, previous=previous)

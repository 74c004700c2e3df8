"""What each page of the field shows, as plain values for its template."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

from plainly.auditing.catalogue import listing
from plainly.core.display import abridged, label
from plainly.core.formatting import counted, listed, number
from plainly.core.result import Record
from plainly.reporting.figures import SIDES
from plainly.reporting.page import score_cell, show_panels
from plainly_lab.field_site.charts import (
    called,
    moved_plots,
    people_plot,
    standing_of,
    standings_plot,
    tricks_plot,
    verdict,
)
from plainly_lab.field_site.plan import family
from plainly_lab.field_site.survey import Field
from plainly_lab.reproductions.assetann import SYSTEMS
from plainly_lab.reproductions.cells import VERDICTS

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
        return _files("set", [of_set["name"] for of_set in self.field.sets])

    @cached_property
    def system(self) -> dict[str, str]:
        return _files("system", list(self.field.systems))

    @cached_property
    def metric(self) -> dict[str, str]:
        return _files("metric", [metric["name"] for metric in self.field.metrics])


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


def overview_page(field: Field, links: Links) -> Record:
    """The first page: who is best where, the papers, the metrics, the systems, what changed."""
    leads = [{lead["metric"]: lead for lead in _leads(of_set)} for of_set in field.sets]
    columns, panels = [], []
    for of_set in field.sets:
        name, (spec, standings) = of_set["name"], next(iter(of_set["standings"].items()))
        columns.append({"name": name, "file": links.set[name], "systems": len(standings["systems"])})
        panels.append(standings_plot(name, spec, standings, links.system, most=_MOST_OF_A_SET, title=name))
    scores = sum(len(standings["systems"]) for of_set in field.sets for standings in of_set["standings"].values())
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
            {"name": metric["name"], "cells": [of_set.get(metric["name"]) for of_set in leads]}
            for metric in field.metrics
        ],
        "papers": [{**paper, "summary": _tally(paper)} for paper in field.papers],
        "paper_count": counted(len(field.papers), "paper"),
        "metrics": field.metrics,
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
        told = f"On {of_set['name']} {counted(len(leads), 'metric')} name {counted(len(winners), 'winner')}: "
        text = told + "; ".join(f"{label(system)} by {listed(by)}" for system, by in winners.items()) + "."
        yield {"text": text, "file": links.set[of_set["name"]], "link": "See the set"}
    audited = [metric for metric in field.metrics if metric["audit"]]
    if audited:
        fooled = {metric["name"]: sum(effect["fooled"] for effect in metric["audit"]["effects"]) for metric in audited}
        most = max(fooled, key=lambda name: fooled[name])
        total = len(audited[0]["audit"]["effects"])
        text = f"Every metric was attacked in {total} ways; {most} is fooled most often, by {fooled[most]} of them."
        yield {"text": text, "file": links.metric[most], "link": "See the metric"}
    moved = [cell for paper in field.papers for cell in paper["cells"] if cell["sound"] is not None]
    if moved:
        text = f"{counted(len(moved), 'published number')} of papers, and what they become when computed soundly."
        yield {"text": text, "file": "papers.html", "link": "See the papers"}


def _leads(of_set: Record) -> Iterator[Record]:
    for spec, standings in of_set["standings"].items():
        best = standings["systems"][0]
        others = sum(standing["tied"] for standing in standings["systems"])
        yield {**best, "metric": spec, "better": standings["better"], "others": others}


def set_page(field: Field, of_set: Record, links: Links) -> Record:
    """A test set: pictures, table, reasons to doubt."""
    standings = of_set["standings"]
    by_metric = {spec: {row["system"]: row for row in of["systems"]} for spec, of in standings.items()}
    first = next(iter(standings.values()))
    ranked = [standing["system"] for standing in first["systems"]]
    panels = [standings_plot(of_set["name"], spec, of, links.system) for spec, of in standings.items()]
    directed = [spec for spec, of in standings.items() if of["better"] != "neither"]
    references = of_set["references"]
    many = "–".join(map(str, dict.fromkeys((references[0], references[-1])))) if references else "no"
    documents = f", {of_set['documents']} documents" if of_set["documents"] else ""
    return {
        "title": of_set["title"],
        "scope": f"{of_set['name']}: {of_set['items']} items{documents}, references: {many}, {len(ranked)} systems.",
        # The first stands over the picture.
        "sentences": [verdict(spec, standings[spec]) for spec in directed[1 : 1 + _MOST_SENTENCES]],
        "plots": show_panels(panels),
        "compared": _how(first),
        "columns": [
            {"name": called(spec, of), "better": of["better"], "hint": SIDES[of["better"]], "part": False}
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
        "clustered": any(of["clusters"] > 1 for of in standings.values()),
        "signed": _signatures(row for of in standings.values() for row in of["systems"]),
        "warnings": list(_by_code(of_set["warnings"])),
        **{
            name: of_set[name]
            for name in ("alarms", "reference_systems", "description", "notes", "licence", "homepage")
        },
    }


def _cell(standing: Record, among: Record) -> Record:
    """A score as its table shows it; that all systems are one cluster says nothing of any."""
    ends = (standing.get("low"), standing.get("high"))
    cluster = standing["cluster"] if among["clusters"] > 1 else None
    place = standing_of(standing, among["better"])
    return score_cell(standing["value"], *ends, place, standing["signature"], cluster=cluster)


def _how(standings: Record) -> str:
    """What "beats" rests on, where systems were compared."""
    if not standings["test"]:
        return ""
    return (
        f"beats: by {standings['test'].replace('-', ' ')} (up to {standings['draws']:,} draws), the "
        f"{standings['pairs']:,} p-values of a metric corrected together (Holm)"
    )


def _by_code(warnings: Sequence[Record]) -> Iterator[Record]:
    """The first warning of each code, and where else it was seen."""
    same: dict[str, list[Record]] = {}
    for warning in warnings:
        same.setdefault(warning["code"], []).append(warning)
    for code, of_code in same.items():
        more = listed([warning["where"] for warning in of_code[1:] if warning["where"]])
        yield {"code": code, "message": of_code[0]["message"], "more": more}


def system_page(field: Field, system: str, links: Links) -> Record:
    """A system: its scores on every set, its trainings, what was published of it, reasons to doubt."""
    of_sets = field.systems[system]
    specs = [metric["name"] for metric in field.metrics if any(metric["name"] in of for of in of_sets.values())]
    rows = [
        {"name": spec, "cells": [_cell(of[spec], of[spec]) if spec in of else None for of in of_sets.values()]}
        for spec in specs
    ]
    sentences = [
        f"On {name} by {spec}: place {row['rank']} of {row['among']}"
        + (f", cluster {row['cluster']} of {row['clusters']}." if row["clusters"] > 1 else ".")
        for name, of in of_sets.items()
        for spec, row in list(of.items())[:1]
    ]
    seeds = [
        {"name": f"{name}: {spec}", "values": row["seeds"], "mean": _mean(row["seeds"]), "signature": row["signature"]}
        for name, of in of_sets.items()
        for spec, row in of.items()
        if row["seeds"]
    ]
    published = list(_published(field, system))
    return {
        "title": system,
        "scope": f"Its outputs for {listed(list(of_sets))}, as their authors published them.",
        "sentences": sentences[:_MOST_SENTENCES],
        "columns": [{"name": name, "file": links.set[name]} for name in of_sets],
        "rows": rows,
        "clustered": any(row["clusters"] > 1 for of in of_sets.values() for row in of.values()),
        "seeds": seeds,
        "most_seeds": max((len(row["values"]) for row in seeds), default=0),
        "level": _level(field),
        "signed": _signatures(row for of in of_sets.values() for row in of.values()),
        "published": published,
        "recipes": list(dict.fromkeys(cell["recipe"] for cell in published)),
        "doubts": list(_doubts(field, system)),
    }


def _mean(values: Sequence[float]) -> str:
    return f"{number(fmean(values))} ± {number(stdev(values))}" if len(values) > 1 else number(values[0])


def _published(field: Field, system: str) -> Iterator[Record]:
    """The cells of papers whose row is this system."""
    for paper in field.papers:
        for cell in paper["cells"]:
            names = SYSTEMS.get(cell["row"], (cell["row"],)) if paper["name"] == "assetann" else ()
            if system in map(family, names):
                yield {**cell_of(cell), "paper": paper["name"]}


def _doubts(field: Field, system: str) -> Iterator[Record]:
    for of_set in field.sets:
        for message in of_set["alarms_of"].get(system, ()):
            yield {"set": of_set["name"], "message": message}
        for warning in of_set["warnings"]:
            if warning["where"] == system:
                yield {"set": of_set["name"], "message": warning["message"]}


def metric_page(field: Field, metric: Record, links: Links) -> Record:
    """A metric: what fools it, whom it agrees with, who leads by it."""
    name, audit = metric["name"], metric["audit"] or {}
    leads = []
    for of_set in field.sets:
        for lead in _leads(of_set):
            if lead["metric"] == name:
                standings = of_set["standings"][name]
                more = {"systems": len(standings["systems"]), "clusters": standings["clusters"]}
                ends = {end: lead.get(end) for end in ("low", "high")}
                leads.append({**lead, **ends, **more, "name": of_set["name"], "file": links.set[of_set["name"]]})
    audited = ""
    if audit:
        audited = (
            f"Attacks on {listed(audit['systems'])} ({audit['test_set']}, {audit['items']} items, "
            f"{counted(audit['trials'], 'trial')}, seed {audit['seed']}): a change that makes outputs worse should "
            "not improve the score."
        )
    signed = _signatures([*leads, *metric["people"], *([audit] if audit else [])])
    effects = sorted(
        audit.get("effects", ()), key=lambda effect: (-(effect["wrong_spreads"] or 0), -(effect["spreads"] or 0))
    )
    signature = audit.get("signature", "")
    return {
        "title": name,
        "scope": f"{metric['measures']} {SIDES[metric['better']].capitalize()}.",
        **{key: metric[key] for key in ("blind", "advice", "papers", "people")},
        "verdict": audit.get("verdict", ""),
        "audited": audited,
        "effects": effects,
        "plots": show_panels([tricks_plot(name, effects, signature), people_plot(name, metric["people"])]),
        "signature": signature,
        "leads": leads,
        "signed": signed,
    }


def papers_page(field: Field) -> Record:
    """What the numbers of papers become when they are computed soundly."""
    papers = []
    for paper in field.papers:
        cells = [cell_of(cell) for cell in paper["cells"]]
        moved = [cell for cell in cells if cell["raw"]["sound"] is not None]
        moved.sort(key=lambda cell: -abs(cell["raw"]["digits"] or 0))
        papers.append(
            {
                **{name: paper[name] for name in ("name", "title", "why", "conclusions", "known")},
                "summary": _tally(paper),
                "public": _attacked(field) if paper["why"] else None,
                "moved": moved[:_MOST_MOVED],
                "less": moved[_MOST_MOVED:],
                "others": [cell for cell in cells if cell["raw"]["sound"] is None],
                "plots": show_panels(moved_plots(paper["name"], paper["cells"])),
                "recipes": list(dict.fromkeys(cell["recipe"] for cell in cells)),
            }
        )
    computed = [paper for paper in papers if not paper["why"]]
    total = sum(len(paper["cells"]) for paper in field.papers if not paper["why"])
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
    audited = [metric for metric in field.metrics if metric["audit"]]
    if not audited:
        return None
    by_metric = {metric["name"]: {row["attack"]: row for row in metric["audit"]["effects"]} for metric in audited}
    first = audited[0]["audit"]
    rows = [
        {"attack": name, "what": attack["what"], "effects": [of[name] for of in by_metric.values()]}
        for attack in listing().records()
        if attack["paper"] and all((name := attack["attack"]) in of for of in by_metric.values())
    ]
    return {
        "specs": list(by_metric),
        "rows": rows,
        "on": f"{listed(first['systems'])} ({first['test_set']}, {first['items']} items)",
        "signed": _signatures(metric["audit"] for metric in audited),
        "signatures": [metric["audit"]["signature"] for metric in audited],
    }


def cell_of(cell: Record) -> Record:
    """A cell as it is shown: at the printed precision, with what is not known as a dash."""
    decimals = cell["decimals"]
    shown: dict[str, Any] = {
        origin: number(cell[origin], decimals, page=True) for origin in ("published", "ours", "sound")
    }
    known = cell["sound"] is not None and cell["published"] is not None
    moved = cell["sound"] - cell["published"] if known else None
    raw = {origin: cell[origin] for origin in ("published", "ours", "sound")} | {"moved": moved}
    raw["digits"] = None if moved is None else moved * 10**decimals
    plain = {name: cell[name] for name in ("table", "row", "column", "verdict", "recipe")}
    return {**plain, **shown, "moved": number(moved, decimals, sign=True, page=True), "raw": raw}


def _tally(paper: Record) -> str:
    if paper["why"]:
        return "Its outputs are licensed; name them to have it computed."
    counts = {verdict: sum(cell["verdict"] == verdict for cell in paper["cells"]) for verdict in VERDICTS}
    sound = sum(cell["sound"] is not None for cell in paper["cells"])
    verdicts = listed([f"{count} {verdict}" for verdict, count in counts.items() if count])
    return f"{counted(len(paper['cells']), 'number')} computed again: {verdicts}. {sound} have a sound value beside."


def _signatures(rows: Any) -> list[str]:
    return list(dict.fromkeys(row["signature"] for row in rows if row.get("signature")))


def _level(field: Field) -> str:
    for of_set in field.sets:
        for standings in of_set["standings"].values():
            for row in standings["systems"]:
                if row.get("level"):
                    return f"{row['level']:.0%}"
    return ""

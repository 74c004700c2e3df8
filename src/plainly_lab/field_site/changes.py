"""What is different between two builds of the field: what came, what went, which numbers moved."""

from collections.abc import Iterator, Mapping
from typing import Any

from plainly.core.formatting import counted, listed, number

# Closer than this, two numbers are shown alike.
_SHOWN = 0.005


def changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[str]:
    """The differences in sentences; of what was never built before, that it is the first."""
    if not before:
        return ["This is the first build: there is nothing to compare it with."]
    sentences = [*_names(before, now), *_scores(before, now), *_others(before, now)]
    return sentences or [f"Nothing has changed since the build of {before.get('built', 'last time')}."]


def _names(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for what, key in (("test set", "sets"), ("metric", "metrics"), ("paper", "papers")):
        old, new = ([part["name"] for part in build.get(key, ())] for build in (before, now))
        if came := [name for name in new if name not in old]:
            yield f"New {what}{'s' * (len(came) > 1)}: {listed(came)}."
        if gone := [name for name in old if name not in new]:
            yield f"No longer there: {listed(gone)}."


def _scores(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = _by_place(before), _by_place(now)
    # Of a set that is new, all is new.
    of_sets: dict[str, list[str]] = {name: [] for name, *_ in old}
    for (name, spec, system), (value, cluster) in new.items():
        moved = of_sets.get(name, [])
        if (name, spec, system) not in old:
            moved.append(f"{system} by {spec} is new")
            continue
        was, stood = old[name, spec, system]
        if (was is None) != (value is None) or (was is not None and value is not None and abs(was - value) >= _SHOWN):
            moved.append(f"{system} by {spec} was {number(was)} and is {number(value)}")
        elif stood != cluster:
            moved.append(f"{system} by {spec} moved from cluster {stood} to {cluster}")
    for name, moved in of_sets.items():
        if moved:
            yield f"{name}: {counted(len(moved), 'change')}. {listed(moved, most=6)}."


def _others(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key, what in (("papers", "cells"), ("metrics", "audit")):
        old = {part["name"]: part.get(what) for part in before.get(key, ())}
        for part in now.get(key, ()):
            if part["name"] in old and old[part["name"]] != part.get(what):
                yield f"{part['name']}: {'the numbers of the paper' if key == 'papers' else 'what fools it'} changed."


def _by_place(build: Mapping[str, Any]) -> dict[tuple[str, str, str], tuple[float | None, int | None]]:
    return {
        (of_set["name"], spec, standing["system"]): (standing["value"], standing["cluster"])
        for of_set in build.get("sets", ())
        for spec, standings in of_set["standings"].items()
        for standing in standings["systems"]
    }

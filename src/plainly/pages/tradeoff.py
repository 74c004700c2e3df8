"""Simpler, or closer in meaning? Systems on both axes, and those that no other system beats on both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plainly.pages.material import Material
from plainly.pages.render import Plot, altair_module
from plainly.pages.words import listed, short
from plainly.render import plots as style
from plainly.render.plots import themed

# What stands for simplicity and for meaning, the best evidence first. All are stand-ins, and the page says so.
SIMPLICITY = ("sle", "sari", "fkgl", "flesch", "ari", "coleman_liau", "smog", "gunning_fog")
MEANING = ("meaning", "bertscore", "nli", "bleu", "chrf", "tbleu", "levenshtein")
SIZE = 300


@dataclass(frozen=True)
class Axis:
    """A metric that stands for a quality; ``sign`` is −1 where lower is better."""

    spec: str
    sign: float

    def better(self) -> str:
        return "→" if self.sign > 0 else "lower is better"


def axes(material: Material) -> tuple[Axis, Axis] | None:
    """The metrics for simplicity and meaning, where both are there."""
    simplicity, meaning = (_first(material, names) for names in (SIMPLICITY, MEANING))
    return (simplicity, meaning) if simplicity and meaning and len(material.systems) > 1 else None


def _first(material: Material, names: tuple[str, ...]) -> Axis | None:
    for name in names:
        for spec in material.specs:
            metric = material.metric(spec)
            if metric.name == name:
                return Axis(spec, -1.0 if metric.better == "lower" else 1.0)
    return None


def pareto(material: Material, simplicity: Axis, meaning: Axis) -> list[str]:
    """Systems that no other beats or equals on one axis while beating it on the other."""
    points = {
        system: (simplicity.sign * material.value(system, simplicity.spec),
                 meaning.sign * material.value(system, meaning.spec))
        for system in material.systems
    }  # fmt: skip
    defined = {system: point for system, point in points.items() if not any(map(math.isnan, point))}
    return [
        system
        for system, (s, m) in defined.items()
        if not any(os >= s and om >= m and (os > s or om > m) for os, om in defined.values())
    ]


def tradeoff_plots(material: Material) -> Iterator[Plot]:
    """Who is simpler, who is closer in meaning, and who is beaten on both?"""
    chosen = axes(material)
    if chosen is None:
        return
    simplicity, meaning = chosen
    alt = altair_module()
    front = set(pareto(material, simplicity, meaning))
    points = {
        system: (material.value(system, meaning.spec), material.value(system, simplicity.spec))
        for system in material.systems
    }
    points = {system: point for system, point in points.items() if not any(map(math.isnan, point))}
    if len(points) < 2:
        return
    places = _label_places(points, reverse=simplicity.sign < 0)
    values = [
        {
            "system": short(system),
            "x": x,
            "y": y,
            "front": "front" if system in front else "beaten",
            "place": places[system],
        }
        for system, (x, y) in points.items()
    ]
    x_title, y_title = f"meaning: {meaning.spec} →", f"simplicity: {simplicity.spec} {simplicity.better()}"
    scale_y = alt.Scale(zero=False, padding=24, reverse=simplicity.sign < 0)
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(zero=False, padding=24))
    y = alt.Y("y:Q", title=y_title, scale=scale_y)
    base = alt.Chart(alt.Data(values=values)).encode(x=x, y=y)
    marks = {"domain": ["front", "beaten"], "range": ["circle", "triangle-right"]}
    colours = {"domain": ["front", "beaten"], "range": [style.BEST, style.OTHER]}
    layers = base.transform_filter("datum.front == 'front'").mark_line(
        strokeDash=[4, 3], color=style.BEST, opacity=0.7
    ) + base.mark_point(size=70, filled=True, opacity=1).encode(
        shape=alt.Shape("front:N", legend=None, scale=alt.Scale(**marks)),
        color=alt.Color("front:N", legend=None, scale=alt.Scale(**colours)),
    )
    for place, (align, baseline, dx, dy) in _PLACES.items():
        layers += (
            base.transform_filter(f"datum.place == '{place}'")
            .mark_text(align=align, baseline=baseline, dx=dx, dy=dy, limit=110, color=style.INK)
            .encode(text="system:N")
        )
    yield Plot(
        "tradeoff",
        "tradeoff",
        f"{simplicity.spec} against {meaning.spec}",
        f"No system is better on both than {listed([short(system) for system in sorted(front)])}.",
        themed(layers, height=SIZE),
    )


_PLACES = {
    "right": ("left", "middle", 8, 0),
    "left": ("right", "middle", -8, 0),
    "above": ("center", "bottom", 0, -7),
    "below": ("center", "top", 0, 8),
}


def _label_places(points: Mapping[str, tuple[float, float]], *, reverse: bool) -> dict[str, str]:
    """Where each name goes so that few of them meet: the first of four sides that is free, by rough widths."""
    xs, ys = [p[0] for p in points.values()], [p[1] for p in points.values()]
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    inner = SIZE - 90
    pixels = {
        system: (24 + (x - min(xs)) / wide * inner, 24 + (y - min(ys)) / high * inner * (-1 if reverse else 1))
        for system, (x, y) in points.items()
    }
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in pixels.values()]
    found = {}
    for system, (x, y) in pixels.items():
        width = min(6.2 * max(len(short(system)), 3), 110)
        boxes = {
            "right": (x + 8, y - 6, x + 8 + width, y + 6),
            "left": (x - 8 - width, y - 6, x - 8, y + 6),
            "above": (x - width / 2, y + 7, x + width / 2, y + 19),
            "below": (x - width / 2, y - 19, x + width / 2, y - 7),
        }

        def cost(name: str, boxes: dict[str, tuple[float, float, float, float]] = boxes) -> float:
            box = boxes[name]
            outside = max(0.0, box[2] - (inner + 70)) + max(0.0, -box[0])
            return outside + sum(_overlap(box, other) for other in taken)

        best = min(boxes, key=cost)
        found[system] = best
        taken.append(boxes[best])
    return found


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)

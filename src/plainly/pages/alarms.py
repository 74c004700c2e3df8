"""Reasons to distrust a score: what the outputs show, and what cheap tricks on them would gain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plainly.pages.material import Alarm, Gain, Habit, Material
from plainly.pages.words import listed, short

READABILITY = frozenset({"fkgl", "flesch", "ari", "coleman_liau", "smog", "gunning_fog"})
OVERLAP = frozenset({"bleu", "chrf", "ibleu", "tbleu"})
# Where these are crossed an alarm is given. They are choices; the numbers in the message are measured.
MANY_COPIES = 25.0
FAR_SHORTER = 0.15
MORE_SPLITS = 10.0
# Tricks are tried on this many items, spread over the set: a slow metric must not make the reader wait.
MOST_TRIED = 100
TRICKS = ("random-period", "random-the", "replace-longest", "random-period+replace-longest")


def of(material: Material) -> tuple[Alarm, ...]:
    """Alarms that follow from what systems do beside what people do."""
    habits = {habit.key: habit for habit in material.habits}
    found: list[Alarm] = []
    for spec in material.specs:
        name = material.metric(spec).name
        if name in OVERLAP and "copied" in habits:
            found += _copies(spec, habits["copied"])
        if name in READABILITY:
            found += _readability(spec, habits)
        if name == "sari" and "compression" in habits:
            found += _shorter(spec, habits["compression"])
    return tuple(found)


def _copies(spec: str, habit: Habit) -> list[Alarm]:
    many = [system for system, share in habit.systems.items() if share >= MANY_COPIES]
    if not many:
        return []
    shown = listed([f"{short(system)} ({habit.systems[system]:.0f} %)" for system in many])
    verb = "copies" if len(many) == 1 else "copy"
    return [Alarm(spec, tuple(many), f"{shown} {verb} a quarter of the sources or more. {spec} rewards copies.")]


def _readability(spec: str, habits: dict[str, Habit]) -> list[Alarm]:
    found = []
    splits, shorter = habits.get("split"), habits.get("compression")
    if splits is not None and splits.people is not None:
        many = [system for system, share in splits.systems.items() if share > splits.people + MORE_SPLITS]
        if many:
            shown = listed([f"{short(system)} ({splits.systems[system]:.0f} %)" for system in many])
            verb = "splits" if len(many) == 1 else "split"
            found.append(
                Alarm(
                    spec,
                    tuple(many),
                    f"{shown} {verb} far more sentences than people do ({splits.people:.0f} %). {spec} improves with "
                    "every full stop, whether the split is sound or not.",
                )
            )
    if shorter is not None and shorter.people is not None:
        shortened = _short(shorter)
        if shortened:
            shown = listed([f"{short(system)} ({shorter.systems[system]:.2f})" for system in shortened])
            verb = "is" if len(shortened) == 1 else "are"
            found.append(
                Alarm(
                    spec,
                    tuple(shortened),
                    f"{shown} {verb} much shorter beside the source than what people write ({shorter.people:.2f}). "
                    f"{spec} does not see what was left out.",
                )
            )
    return found


def _shorter(spec: str, habit: Habit) -> list[Alarm]:
    shortened = _short(habit)
    if not shortened or habit.people is None:
        return []
    shown = listed([f"{short(system)} ({habit.systems[system]:.2f})" for system in shortened])
    verb = "deletes" if len(shortened) == 1 else "delete"
    return [
        Alarm(
            spec,
            tuple(shortened),
            f"{shown} {verb} much more than people do (length {habit.people:.2f}). Deletions count a third of {spec}, "
            "and those that lose meaning count as the others do.",
        )
    ]


def _short(habit: Habit) -> list[str]:
    if habit.people is None:
        return []
    return [system for system, ratio in habit.systems.items() if ratio < habit.people - FAR_SHORTER]


def gains(material: Material, *, seed: int, trials: int = 1) -> tuple[tuple[Gain, ...], tuple[str, ...]]:
    """What tricks of the literature gain on these outputs, and the systems tried: best, middle and worst."""
    from plainly.questions.audit import audit

    directed = [spec for spec in material.specs if material.metric(spec).better != "neither"]
    if not directed:
        return (), ()
    systems = _spread(material.ranking(directed[0]))
    chosen = np.unique(np.linspace(0, len(material.evalset) - 1, min(MOST_TRIED, len(material.evalset))).astype(int))
    result = audit(
        evalset=material.evalset[chosen],
        outputs={system: [material.outputs[system][item] for item in chosen] for system in systems},
        metrics=directed,
        attacks=TRICKS,
        levels=(1.0,),
        trials=trials,
        seed=seed,
    )
    what = {attack.name: attack.what for attack in result.sweep.design.attacks}
    found = [
        Gain(spec, effect.attack, what[effect.attack], _spreads(material, spec, effect.gain), effect.fooled)
        for spec, verdict in result.verdicts.items()
        for effect in verdict.effects
    ]
    return tuple(found), tuple(systems)


def _spreads(material: Material, spec: str, gain: float) -> float:
    """A gain in units of the distance between the best and the worst of all systems of the report."""
    ranked = [value for system in material.ranking(spec) if (value := material.value(system, spec)) == value]
    distance = abs(ranked[0] - ranked[-1]) if len(ranked) > 1 else 0.0
    return gain / distance if distance else float("nan")


def _spread(ranked: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((ranked[0], ranked[len(ranked) // 2], ranked[-1])))

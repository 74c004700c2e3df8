"""The papers that plainly stands on, computed again: one module a paper, its cells beside the published ones.

Adding a recipe: a module with ``run(options) -> list[Cell]`` (and, where it helps, ``conclusions(cells)``, sentences),
the published tables as data in ``published/NAME.toml``, and one line here.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from plainly.errors import UnknownName
from plainly.questions.reproduce.cells import Cell, Options

__all__ = ["RECIPES", "Cell", "Options", "recipe"]

# Name → (module, what it reproduces).
RECIPES: dict[str, tuple[str, str]] = {
    "fkgl-gaming": (
        "plainly.questions.reproduce.fkgl_gaming",
        "Flesch-Kincaid is not a text simplification evaluation metric (Tanprasert & Kauchak 2021)",
    ),
    "assetann": (
        "plainly.questions.reproduce.assetann",
        "Linguistic corpus annotation for automatic text simplification evaluation (Cardon et al. 2022)",
    ),
    "bleu-splitting": (
        "plainly.questions.reproduce.bleu_splitting",
        "BLEU is not suitable for the evaluation of text simplification (Sulem et al. 2018)",
    ),
    "sle": (
        "plainly.questions.reproduce.sle",
        "Simplicity Level Estimate: a learned reference-less metric for sentence simplification (Cripwell et al. 2023)",
    ),
    "tradeoff": (
        "plainly.questions.reproduce.tradeoff",
        "Human evaluation for text simplification: the simplicity–adequacy tradeoff (Schwarzer and Kauchak 2018)",
    ),
}


def recipe(name: str) -> ModuleType:
    """The module of a recipe, imported only now."""
    if name not in RECIPES:
        raise UnknownName("recipe", name, RECIPES, see="plainly reproduce --list")
    return importlib.import_module(RECIPES[name][0])

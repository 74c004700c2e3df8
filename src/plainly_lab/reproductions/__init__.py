"""The papers that plainly is built on, computed again: one module per paper, its cells beside the published ones.

To add a recipe, write a module with ``run(options) -> list[Cell]`` and ``conclusions(cells) -> list[str]``, put the
published tables into ``published/NAME.toml``, and add the name to ``RECIPES``.
"""

import importlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from plainly.core.errors import BadInput, MissingExtra, UnknownName
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Listing
from plainly_lab.reproductions.cells import SCHEMA, Cell, RecipeOptions, Reproduction, published

__all__ = ["RECIPES", "Cell", "RecipeOptions", "Reproduction", "check_requirements", "recipe", "recipes", "reproduce"]

# In the order in which they are listed; the module of "fkgl-gaming" is fkgl_gaming.
RECIPES = ("fkgl-gaming", "assetann", "bleu-splitting", "sle", "tradeoff")
# Packages beyond plainly's own that a recipe cannot do without: import name, distribution, extra.


def reproduce(
    name: str,
    *,
    tables: Iterable[str] | None = None,
    outputs: str | Path | None = None,
    figures: str | Path | None = None,
    seed: int = RecipeOptions.seed,
    trials: int = RecipeOptions.trials,
    processes: int | None = None,
    progress: Progress = no_progress,
) -> Reproduction:
    """Compute a paper's tables again, or some of them, and put every cell beside the published one.

    ``outputs`` is a directory of licensed system outputs, where a paper needs them; ``figures`` is one to draw in, for
    papers that have figures. ``seed``, ``trials`` and ``processes`` are for papers that draw or repeat.
    """
    module = recipe(name)
    selection = None if tables is None else frozenset(map(str, tables))
    options = RecipeOptions(
        tables=selection,
        outputs=None if outputs is None else Path(outputs),
        figures=None if figures is None else Path(figures),
        seed=seed,
        trials=trials,
        processes=processes,
        progress=progress,
    )
    cells = module.run(options)
    if not cells:
        missing = ", ".join(sorted(selection or ()))
        raise BadInput(f"{name} has no table {missing}. Leave out tables= to see all of them.")
    return Reproduction(name, tuple(cells), tuple(module.conclusions(cells)))


def recipes() -> Listing:
    """List the papers that can be reproduced."""
    rows = tuple({"name": name, "title": published(name)["title"]} for name in RECIPES)
    return Listing({"schema": SCHEMA, "recipes": list(rows)}, rows, {"name": "name", "title": "paper"})


def check_requirements(name: str) -> None:
    """Raise unless the packages that a recipe needs are installed."""
    if name == "assetann" and importlib.util.find_spec("sklearn") is None:
        raise MissingExtra("reproduce assetann", package="scikit-learn", extra="regression")
    if name == "bleu-splitting" and importlib.util.find_spec("sacremoses") is None:
        raise MissingExtra("reproduce bleu-splitting", package="sacremoses", extra="moses")


def recipe(name: str) -> ModuleType:
    """Import the module of a recipe."""
    if not isinstance(name, str) or name not in RECIPES:
        raise UnknownName("recipe", name, RECIPES, see="plainly reproduce --list")
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")

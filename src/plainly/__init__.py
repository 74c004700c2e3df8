"""plainly evaluates text simplification: exact metrics, honest comparisons, audits of the metrics themselves.

>>> import plainly
>>> r = plainly.score(sources=["He was obliged to leave."], outputs=["He had to go."],
...                   references=[["He had to leave."]], metrics=["sari"], intervals=False)
>>> round(r["sari"].value, 2)
49.98
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from plainly.api import load, metric, metric_names, score, systems
    from plainly.evalset import EvalSet
    from plainly.pages import make_report, plot

# Name → where it lives. Looked up at first use, so that importing plainly costs nothing.
_PUBLIC = {
    "score": "plainly.api",
    "load": "plainly.api",
    "metric": "plainly.api",
    "metric_names": "plainly.api",
    "systems": "plainly.api",
    "EvalSet": "plainly.evalset",
    "make_report": "plainly.pages",
    "plot": "plainly.pages",
}
__all__ = [
    "EvalSet",
    "__version__",
    "load",
    "make_report",
    "metric",
    "metric_names",
    "plot",
    "score",
    "systems",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'plainly' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})

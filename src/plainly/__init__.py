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
    from plainly.api import load, make_report, metric, metric_names, plot, systems
    from plainly.evalset import EvalSet
    from plainly.learn.train import train
    from plainly.pages import report
    from plainly.pages.field import field
    from plainly.questions.align import align
    from plainly.questions.audit import audit
    from plainly.questions.compare import compare
    from plainly.questions.doctor import doctor
    from plainly.questions.facts import facts
    from plainly.questions.gate import check, gate
    from plainly.questions.grid import grid
    from plainly.questions.meta import agreement, meta
    from plainly.questions.operations import operations
    from plainly.questions.plan import plan
    from plainly.questions.reproduce import reproduce
    from plainly.questions.score import score
    from plainly.sampling import Sampling

# Name → where it lives. Looked up at first use, so that importing plainly costs nothing.
_PUBLIC = {
    "score": "plainly.questions.score",
    "compare": "plainly.questions.compare",
    "align": "plainly.questions.align",
    "audit": "plainly.questions.audit",
    "meta": "plainly.questions.meta",
    "agreement": "plainly.questions.meta",
    "operations": "plainly.questions.operations",
    "facts": "plainly.questions.facts",
    "plan": "plainly.questions.plan",
    "doctor": "plainly.questions.doctor",
    "gate": "plainly.questions.gate",
    "check": "plainly.questions.gate",
    "grid": "plainly.questions.grid",
    "reproduce": "plainly.questions.reproduce",
    "report": "plainly.pages",
    "field": "plainly.pages.field",
    "train": "plainly.learn.train",
    "load": "plainly.api",
    "systems": "plainly.api",
    "metric": "plainly.api",
    "EvalSet": "plainly.evalset",
    "Sampling": "plainly.sampling",
    "make_report": "plainly.api",
    "metric_names": "plainly.api",
    "plot": "plainly.api",
}
__all__ = [
    "EvalSet",
    "Sampling",
    "__version__",
    "agreement",
    "align",
    "audit",
    "check",
    "compare",
    "doctor",
    "facts",
    "field",
    "gate",
    "grid",
    "load",
    "make_report",
    "meta",
    "metric",
    "metric_names",
    "operations",
    "plan",
    "plot",
    "report",
    "reproduce",
    "score",
    "systems",
    "train",
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

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
    from plainly.auditing import audit as audit
    from plainly.checks.check import check as check
    from plainly.checks.doctor import doctor as doctor
    from plainly.checks.gate import gate as gate
    from plainly.core.evalset import EvalSet as EvalSet
    from plainly.core.registry import metric as metric
    from plainly.core.sampling import Sampling as Sampling
    from plainly.data import load as load
    from plainly.data import systems as systems
    from plainly.factcheck.facts import facts as facts
    from plainly.people.meta_evaluation import agreement as agreement
    from plainly.people.meta_evaluation import meta as meta
    from plainly.people.planning import plan as plan
    from plainly.people.results import results as results
    from plainly.reporting.report import report as report
    from plainly.scoring.citations import cite as cite
    from plainly.scoring.compare import compare as compare
    from plainly.scoring.score import score as score
    from plainly.typology.operations import operations as operations
    from plainly.typology.sentence_alignment import align as align

# The public names and the modules that define them. They are imported on first use, so that importing plainly is fast.
_PUBLIC = {
    "EvalSet": "plainly.core.evalset",
    "Sampling": "plainly.core.sampling",
    "agreement": "plainly.people.meta_evaluation",
    "align": "plainly.typology.sentence_alignment",
    "audit": "plainly.auditing",
    "check": "plainly.checks.check",
    "cite": "plainly.scoring.citations",
    "compare": "plainly.scoring.compare",
    "doctor": "plainly.checks.doctor",
    "facts": "plainly.factcheck.facts",
    "gate": "plainly.checks.gate",
    "load": "plainly.data",
    "meta": "plainly.people.meta_evaluation",
    "metric": "plainly.core.registry",
    "operations": "plainly.typology.operations",
    "plan": "plainly.people.planning",
    "report": "plainly.reporting.report",
    "results": "plainly.people.results",
    "score": "plainly.scoring.score",
    "systems": "plainly.data",
}
__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'plainly' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})

"""Can a metric be fooled? Attack a share of the outputs and watch every metric.

from plainly.questions.audit import audit
print(audit(evalset, {"A": outputs_a, "B": outputs_b}, ["sari", MyMetric()]))
"""

from __future__ import annotations

from plainly.questions.audit.attack import Attack, Item, attack
from plainly.questions.audit.result import Audit, audit

__all__ = ["Attack", "Audit", "Item", "attack", "audit"]

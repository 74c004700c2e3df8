"""Test whether metrics can be fooled: attack a share of the outputs and observe every metric.

print(plainly.audit(evalset, outputs={"A": outputs_a, "B": outputs_b}, metrics=["sari", MyMetric()]))
"""

from plainly.auditing.attacks import Attack, Item, Replacement, Rewritten, attack
from plainly.auditing.result import Audit, audit

__all__ = ["Attack", "Audit", "Item", "Replacement", "Rewritten", "attack", "audit"]

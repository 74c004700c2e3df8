"""How warnings leave the command line: one line each on stderr, with the code that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plainly.cli.output import note

if TYPE_CHECKING:
    from plainly.result import Note


def print_warnings(found: Sequence[Note]) -> None:
    """One line a code: its first finding and where else it was found; how to learn more is said once."""
    by_code: dict[str, list[Note]] = {}
    for finding in found:
        by_code.setdefault(finding.code, []).append(finding)
    for code, same in by_code.items():
        elsewhere = [finding.where for finding in same[1:] if finding.where]
        more = f" Also {', '.join(elsewhere[:3])}{f' and {len(elsewhere) - 3} more' if len(elsewhere) > 3 else ''}."
        note(f"plainly: [{code}] {same[0].message}{more if elsewhere else ''}")
    if found:
        note(f"plainly: what a code means: plainly doctor --explain {found[0].code}")

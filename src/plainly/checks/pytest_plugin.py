"""A pytest plugin: the fixture ``plainly`` checks texts by the rules of the marker ``plainly``.

@pytest.mark.plainly(preset="easy")
def test_leaflet(plainly):
    plainly.check(simplify(source), source=source)
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "plainly(preset=…, rules=…): the rules by which the fixture plainly checks texts"
    )


class Checker:
    """The fixture's value: ``check`` for one text, ``gate`` for many; both fail the test with the reasons."""

    def __init__(self, rules: dict[str, Any]) -> None:
        self._rules = rules

    def check(self, text: str, *, source: str | None = None, references: Sequence[str] = ()) -> None:
        """Fail unless the text may be shown."""
        import plainly

        result = plainly.check(text, source=source, references=references, **self._rules)
        if not result:
            pytest.fail("\n".join([f"plainly: {text!r}", *map(_line, result.findings)]), pytrace=False)

    def gate(self, *, rules: str | Path | None = None, preset: str | None = None, **texts: Any) -> None:
        """Fail unless all outputs pass; ``texts`` are arguments of ``plainly.gate``."""
        import plainly

        active: dict[str, Any] = {"rules": rules, "preset": preset} if rules or preset else self._rules
        outcome = plainly.gate(**active, **texts)
        if not outcome.passed:
            reasons = [note.message for note in outcome.notes()]
            lines = [_line(finding) for _, _, findings in outcome.worst[:10] for finding in findings]
            pytest.fail("\n".join([*reasons, *lines]), pytrace=False)


@pytest.fixture
def plainly(request: pytest.FixtureRequest) -> Checker:
    """Return checks of simplified texts by the rules of the marker ``plainly``, or else by the preset "plain"."""
    marker = request.node.get_closest_marker("plainly")
    return Checker(dict(marker.kwargs) if marker is not None and marker.kwargs else {"preset": "plain"})


def _line(finding: Any) -> str:
    return f"  item {finding.item}: {finding.rule}: {finding.message} {finding.words}".rstrip()

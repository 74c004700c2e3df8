"""A pytest plugin: the fixture ``plainly`` checks texts by the rules of the marker ``plainly``.

@pytest.mark.plainly(preset="easy")
def test_leaflet(plainly):
    plainly.check(simplify(source), source=source)
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "plainly(preset=…, rules=…, language=…, fail_on=…): the rules by which the fixture plainly checks texts",
    )


class ReviewWarning(UserWarning):
    """A text that a person should look at."""


class Checker:
    """The fixture's value: ``check`` for one text, ``gate`` for many; both fail the test with the reasons.

    What is to be reviewed and does not fail the test is a warning, which pytest lists at the end of its run.
    """

    def __init__(self, rules: dict[str, Any]) -> None:
        self._rules = rules

    def check(self, text: str, *, source: str | None = None, references: Sequence[str] = ()) -> None:
        """Fail unless the text may be shown."""
        import plainly

        result = plainly.check(text, source=source, references=references, **self._rules)
        lines = "\n".join([f"plainly: {result.outcome}: {text!r}", *map(_line, result.findings)])
        if not result:
            pytest.fail(lines, pytrace=False)
        if result.outcome == "review":
            warnings.warn(lines, ReviewWarning, stacklevel=2)

    def gate(self, *, rules: str | Path | None = None, preset: str | None = None, **texts: Any) -> None:
        """Fail unless all outputs pass; ``texts`` are arguments of ``plainly.gate``."""
        import plainly

        active: dict[str, Any] = {"rules": rules, "preset": preset} if rules or preset else self._rules
        outcome = plainly.gate(**{**active, **texts})
        reasons = [note.message for note in outcome.notes()]
        lines = "\n".join(
            [*reasons, *(_line(finding) for _, _, findings in outcome.worst[:10] for finding in findings)]
        )
        if not outcome.passed:
            pytest.fail(lines, pytrace=False)
        if outcome.outcome == "review":
            warnings.warn(lines, ReviewWarning, stacklevel=2)


@pytest.fixture
def plainly(request: pytest.FixtureRequest) -> Checker:
    """Return checks of simplified texts by the rules of the marker ``plainly``, or else by the preset "plain"."""
    marker = request.node.get_closest_marker("plainly")
    return Checker(dict(marker.kwargs) if marker is not None and marker.kwargs else {"preset": "plain"})


def _line(finding: Any) -> str:
    return f"  {finding.outcome}: item {finding.item}: {finding.rule}: {finding.text}"

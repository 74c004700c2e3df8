"""A plot of the report: its words, what the page draws, and an Altair chart for files, made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from plainly.core import plots
from plainly.reporting.figures import Figure, Strips

if TYPE_CHECKING:
    import altair


@dataclass(frozen=True)
class Panel:
    """A figure with the question it answers, its words for those who do not see it, and the section it belongs to."""

    name: str
    section: str
    title: str
    caption: str
    figure: Figure
    make: Callable[[], altair.TopLevelMixin] | None = field(default=None, repr=False)

    @cached_property
    def chart(self) -> altair.TopLevelMixin:
        """The same as an Altair chart."""
        from plainly.reporting.strip_chart import strip_chart

        if self.make is not None:
            return self.make()
        assert isinstance(self.figure, Strips)
        return strip_chart(self.figure)  # type: ignore[no-any-return]

    def drawn(self, form: str) -> str | bytes:
        """The chart as a file: svg, pdf or png, large enough for print."""
        # Validation is the tests' affair; it takes longer than drawing.
        return plots.drawn(dict(self.chart.to_dict(validate=False)), form, scale=3)

"""What ``plainly score`` adds on request or of its own accord: warnings, subsets, sanity rows."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from plainly.cli import advice, output
from plainly.cli.inputs import Inputs
from plainly.render import tables
from plainly.result import Table
from plainly.scoring.evaluate import Evaluation

if TYPE_CHECKING:
    from plainly.questions.doctor import Finding
    from plainly.scoring.sanity import LeaveOneOut
    from plainly.scoring.subsets import Subset

Outputs = Mapping[str, Sequence[str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--by, --sanity and --over."""
    more = parser.add_argument_group("what else to show")
    more.add_argument(
        "--by",
        metavar="FIELD",
        help="scores on subsets: length, split, copy, group, references, operation, or any column of a table",
    )
    more.add_argument(
        "--sanity",
        action="store_true",
        help="add what a copy, its first words, nothing and shuffled words score, and a held-out reference",
    )
    more.add_argument(
        "--over",
        choices=("items", "references", "both"),
        default="items",
        help="intervals say: other items (default), other references for the same items, or both",
    )


@dataclass(frozen=True)
class Extras:
    """What goes with the scores."""

    warnings: list[Finding] = field(default_factory=list)
    by: str | None = None
    subsets: list[tuple[Subset, Evaluation]] = field(default_factory=list)
    held_out: LeaveOneOut | None = None

    def payload(self, systems: Any) -> dict[str, Any]:
        """Keys for the JSON; ``systems`` turns an evaluation into a list of systems with scores."""
        keys: dict[str, Any] = {}
        if self.by is not None:
            keys["subsets"] = [
                {"field": subset.field, "label": subset.label, "systems": systems(found)}
                for subset, found in self.subsets
            ]
        if self.held_out is not None:
            keys["leave_one_out"] = {
                "references": self.held_out.references,
                "folds": self.held_out.folds,
                "items": self.held_out.items,
                "systems": systems(self.held_out.evaluation),
            }
        return {**keys, "warnings": [finding.payload() for finding in self.warnings]}

    def print(self, *, form: str | None) -> None:
        """Further tables and, on stderr, the warnings."""
        if self.subsets:
            print()
            output.print_grid(subset_grid(self.by or "", self.subsets), form=form)
        if self.held_out is not None:
            print()
            caption = (
                f"Against {self.held_out.references} references, each left out once for all systems "
                f"({self.held_out.items} items)"
            )
            grid = self.held_out.evaluation.table()
            output.print_grid(Table(grid.header, grid.rows, caption), form=form)
        advice.print_warnings(self.warnings)

    def print_csv(self, found: Evaluation) -> None:
        """All records in one table, with a column that says which subset they are of."""
        records: list[dict[str, Any]] = [{"subset": "", **record} for record in found.records()]
        for subset, evaluation in self.subsets:
            records += [{"subset": f"{subset.field}: {subset.label}", **record} for record in evaluation.records()]
        if self.held_out is not None:
            records += [{"subset": "leave-one-out", **record} for record in self.held_out.evaluation.records()]
        if not self.subsets and self.held_out is None:
            records = found.records()
        print(tables.delimited(list(records[0]), [list(record.values()) for record in records]))
        advice.print_warnings(self.warnings)


def gather(
    args: argparse.Namespace, given: Inputs, outputs: Outputs, found: Evaluation, options: Mapping[str, Any]
) -> Extras:
    """Everything that the arguments ask for; ``outputs`` has the sanity rows where there are any."""
    warnings: list[Finding] = []
    if not args.no_advice:
        from plainly.questions import doctor

        warnings += doctor.quick(given.evalset, given.outputs, found.specs)
    divided: list[tuple[Subset, Evaluation]] = []
    held_out = None
    if args.by is not None:
        from plainly.questions.doctor import Finding
        from plainly.scoring import subsets

        parts = subsets.divide(given.evalset, outputs, args.by)
        divided = [(part, subsets.evaluate_subset(found, given.evalset, part, **options)) for part in parts]
        warnings += [Finding(code, message) for code, message in subsets.warnings(parts)]
    if args.sanity and int(given.evalset.reference_counts.max(initial=0)) > 1:
        from plainly.scoring.sanity import leave_one_out

        held_out = leave_one_out(given.evalset, outputs, found.specs, **options)
    return Extras(warnings, args.by, divided, held_out)


def subset_grid(by: str, divided: Sequence[tuple[Subset, Evaluation]]) -> Table:
    """Systems within subsets, with how many items each has."""
    rows: list[tuple[str, ...]] = []
    header: tuple[str, ...] = ()
    for subset, found in divided:
        table = found.table()
        header = (by, "items", *table.header)
        for row, of_system in zip(table.rows, found.values(), strict=True):
            n = len(next(iter(of_system.values())).ids)
            rows.append((subset.label, str(n), *row))
    return Table(header, tuple(rows), text_columns=frozenset({0, 2}))

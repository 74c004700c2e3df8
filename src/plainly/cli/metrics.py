"""``plainly metrics``: which metrics there are, what one of them means, and why variants of one name differ."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import textwrap
import typing
from typing import Any

from plainly import registry
from plainly.cli import inputs, output
from plainly.errors import BadInput
from plainly.result import Table

HELP = """List the metrics, describe one, or show on your own files why its variants differ.

  plainly metrics
  plainly metrics sari
  plainly metrics sari --explain -t turkcorpus/test ACCESS
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="METRIC", help="the metric to describe")
    inputs.add_arguments(parser)
    parser.add_argument("--explain", action="store_true", help="compute every variant on the given files, side by side")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="print JSON")
    parser.set_defaults(format=None, metrics=None)


def run(args: argparse.Namespace) -> int:
    if args.name is None:
        if args.explain:
            raise BadInput("Which metric should be explained? For example: plainly metrics sari --explain --demo")
        _list(args)
        return 0
    described = describe(args.name)
    if args.explain:
        return _explain(args)
    if args.format == "json":
        output.print_json({"schema": "plainly.metrics/1", "metrics": [described]})
    else:
        _print(described)
    return 0


def describe(name: str) -> dict[str, Any]:
    """What the registry knows of a metric: meaning, parameters with their values, outputs, needs."""
    cls = registry.metric_class(name)
    hints = typing.get_type_hints(cls)
    return {
        "name": name,
        "summary": _summary(cls),
        "description": inspect.cleandoc(cls.__doc__ or ""),
        "evidence": getattr(cls, "evidence", ""),
        "needs": sorted(cls.needs),
        "better": cls.better,
        "outputs": list(cls.outputs),
        "parameters": [
            {"name": field.name, "default": field.default, "values": _values(hints[field.name])}
            for field in dataclasses.fields(cls)
            if field.init
        ],
    }


def _list(args: argparse.Namespace) -> None:
    described = [describe(name) for name in registry.names()]
    if args.format == "json":
        output.print_json({"schema": "plainly.metrics/1", "metrics": described})
        return
    rows = tuple(
        (each["name"], each["better"], " and ".join(each["needs"]) or "the output alone", each["summary"])
        for each in described
    )
    header = ("metric", "better", "compares with", "what it is")
    output.print_grid(Table(header, rows, text_columns=frozenset(range(4))))
    output.note("plainly metrics NAME describes one; parameters go in parentheses: -m 'sari(variant=hf)'")


def _print(described: dict[str, Any]) -> None:
    print(
        f"{described['name']} — better: {described['better']}; needs: {', '.join(described['needs']) or 'outputs only'}"
    )
    print()
    print(described["description"])
    if described["evidence"]:
        print()
        print(textwrap.fill(described["evidence"], width=100))
    if described["parameters"]:
        print("\nParameters")
        for parameter in described["parameters"]:
            values = f"  ({parameter['values']})" if parameter["values"] else ""
            default = parameter["default"]
            shown = str(default).lower() if isinstance(default, bool) else default
            print(f"  {parameter['name']}={shown}{values}")
    print("\nOutputs, the first is the headline")
    print(textwrap.fill(", ".join(described["outputs"]), width=100, initial_indent="  ", subsequent_indent="  "))
    if described["name"] == "sari":
        from plainly.metrics.sari import VARIANTS

        print("\nVariants")
        for name, settings in VARIANTS.items():
            print(textwrap.fill(f"{name}: {settings.why}", width=100, initial_indent="  ", subsequent_indent="    "))


def _explain(args: argparse.Namespace) -> int:
    if args.name != "sari":
        raise BadInput(f"Only sari has variants that need explaining; see: plainly metrics {args.name}")
    if not (args.demo or args.test_set or args.source or args.references or args.table or args.systems):
        args.demo = True
    from plainly.questions.explain import explain_sari

    given = inputs.read(args)
    explained = explain_sari(given.evalset, given.outputs)
    if args.format == "json":
        output.print_json(
            {"schema": "plainly.explain/1", "test_set": given.evalset.name or None, **explained.as_dict()}
        )
        return 0
    output.print_grid(explained.table())
    print()
    for paragraph in explained.paragraphs():
        print(textwrap.fill(paragraph, width=100))
        print()
    return 0


def _summary(cls: type[Any]) -> str:
    first = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<!\bal)\. ", first)[0].rstrip(".")


def _values(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return " | ".join(map(str, typing.get_args(hint)))
    return ""

"""``plainly data``: which public data sets there are, what they are, and getting them onto this machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plainly import data
from plainly.cli.output import note, print_grid, print_json
from plainly.errors import BadInput
from plainly.result import Table

HELP = "list, describe and fetch public test sets, system outputs and ratings"

_SCHEMA = "plainly.data/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    listing = actions.add_parser("list", help="all data sets, one a line")
    listing.add_argument("--kind", choices=data.KINDS, help="only data sets of this kind")

    info = actions.add_parser("info", help="what a data set is, whose it is, and which systems it has outputs of")
    info.add_argument("name", metavar="NAME", help="for example asset/test")

    get = actions.add_parser("get", help="fetch data sets into the cache and check every file")
    get.add_argument("names", metavar="NAME", nargs="*", help="for example asset/test")
    get.add_argument("--all", action="store_true", help="every data set (about 30 MB)")
    get.add_argument("--with-outputs", action="store_true", help="and all system outputs for the named test sets")

    for action in (listing, info, get):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Do what the arguments say; the exit status."""
    if args.action == "list":
        _list([card for card in data.cards() if args.kind in (None, card.kind)], as_json=args.json)
    elif args.action == "info":
        _info(data.card(args.name), as_json=args.json)
    else:
        _get(_chosen(args), as_json=args.json)
    return 0


def _list(cards: Sequence[data.Card], *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": _SCHEMA, "sets": [_summary(card) for card in cards]})
        return
    rows = (
        (card.name, card.kind, f"{card.items:,}", _bytes(card.size), card.licence, _yes(_is_here(card)), card.title)
        for card in cards
    )
    header = ("name", "kind", "items", "size", "licence", "here", "title")
    print_grid(Table(header, tuple(rows), text_columns=frozenset({0, 1, 4, 5, 6})))


def _info(card: data.Card, *, as_json: bool) -> None:
    systems = data.systems(card.name) if card.kind == "evalset" else card.systems
    if as_json:
        files = [
            {
                "url": file.url,
                "size": file.size,
                "sha256": file.sha256,
                "role": file.role,
                "system": file.system or None,
                "path": str(path) if (path := data.whereabouts(file)) else None,
            }
            for file in card.files
        ]
        print_json(
            {
                "schema": _SCHEMA,
                "set": _summary(card)
                | {
                    "description": card.description,
                    "licence_url": card.licence_url,
                    "homepage": card.homepage,
                    "citation": card.citation,
                    "reader": card.reader,
                    "notes": card.notes,
                    "of": card.of,
                    "within": card.within or None,
                    "systems": systems,
                    "files": files,
                },
            }
        )
        return
    here = sum(data.whereabouts(file) is not None for file in card.files)
    facts = {
        "kind": card.kind,
        "items": f"{card.items:,}",
        "files": f"{len(card.files)} ({_bytes(card.size)}), {here} of them on this machine",
        "licence": f"{card.licence}  {card.licence_url}",
        "homepage": card.homepage,
        "outputs of": ", ".join(card.of),
        "chosen from": card.within,
        "systems": ", ".join(systems),
    }
    print(f"{card.name}: {card.title}\n\n{card.description}")
    if card.notes:
        print(f"\n{card.notes}")
    print()
    for label, text in facts.items():
        if text:
            print(f"{label:<12} {text}")
    print(f"\n{card.citation}")


def _get(cards: Sequence[data.Card], *, as_json: bool) -> None:
    found = []
    for card in cards:
        with _progress(card) as progress:
            paths = data.paths(card.name, progress=progress, repair=True)
        found.append((card, [path for role in paths.values() for path in role]))
    if as_json:
        print_json(
            {
                "schema": _SCHEMA,
                "sets": [_summary(card) | {"paths": [str(path) for path in paths]} for card, paths in found],
            }
        )
        return
    rows = (
        (card.name, str(len(paths)), _bytes(card.size), card.licence, _common_directory(paths)) for card, paths in found
    )
    print_grid(Table(("name", "files", "size", "licence", "where"), tuple(rows), text_columns=frozenset({0, 3, 4})))
    note("Every file is what its card says.")


def _chosen(args: argparse.Namespace) -> list[data.Card]:
    """The cards that the arguments name, each once."""
    if args.all:
        return list(data.cards())
    if not args.names:
        raise BadInput("Say which data sets to get, or --all. See: plainly data list")
    chosen = {card.name: card for card in map(data.card, args.names)}
    if args.with_outputs:
        sets = {name for card in chosen.values() for name in (card.name, card.within) if name}
        for card in data.cards():
            if sets.intersection(card.of):
                chosen.setdefault(card.name, card)
    return list(chosen.values())


@contextmanager
def _progress(card: data.Card) -> Iterator[data.Progress | None]:
    """A bar on a terminal; elsewhere a line before the first download and silence after."""
    if all(data.whereabouts(file) for file in card.files):
        yield None
        return
    label = f"{card.name} ({len(card.files)} files, {_bytes(card.size)})"
    if not sys.stderr.isatty():
        note(f"Fetching {label} …")
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        done = {file: file.size for file in card.files if data.whereabouts(file)}
        task = bar.add_task(label, total=card.size, completed=sum(done.values()))

        def tell(file: data.File, size: int) -> None:
            done[file] = size
            bar.update(task, completed=sum(list(done.values())))

        yield tell


def _summary(card: data.Card) -> dict[str, Any]:
    return {
        "name": card.name,
        "kind": card.kind,
        "title": card.title,
        "items": card.items,
        "bytes": card.size,
        "licence": card.licence,
        "here": _is_here(card),
    }


def _is_here(card: data.Card) -> bool:
    return all(data.whereabouts(file) for file in card.files)


def _common_directory(paths: Sequence[Path]) -> str:
    return os.path.commonpath([str(path.parent) for path in paths])


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"

"""Cards of data sets: TOML files with the URLs, hashes, licence and authors of the files.

The card of ``asset/test`` is ``cards/asset/test.toml``: it is found by name without reading any other, in a
millisecond however many there are.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from plainly.core.errors import BadInput, PlainlyError, UnknownName
from plainly.core.files import read_shipped

Kind = Literal["evalset", "outputs", "ratings", "annotations", "levels", "words"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_CARDS = Path(__file__).parent / "cards"
_LONGEST = 200  # letters of a name
_NAME = re.compile(r"[a-z0-9-]+/[a-z0-9-]+")
_TRAINING = re.compile(r"/\d+$")
_FIELDS = ("author", "title", "year", "url")  # of a BibTeX entry


@dataclass(frozen=True, slots=True)
class File:
    """A remote file of a data set, with its size and hash. ``role`` is its role for the card's reader."""

    url: str
    sha256: str
    size: int
    role: str
    system: str = ""
    part: str = ""
    encoding: str = ""

    @property
    def place(self) -> str:
        """The path of the file in a cache or a mirror: the host and path of its URL."""
        return self.url.partition("://")[2]


@dataclass(frozen=True, slots=True)
class Local:
    """A file of a card, its path on this machine, and its checked content."""

    file: File
    path: Path
    data: bytes


@dataclass(frozen=True, slots=True)
class Card:
    """One data set.

    ``of`` names the evaluation sets that outputs belong to. ``within`` names the evaluation set of which this one is a
    part; its outputs are then that set's outputs for these items. ``dimensions`` names the dimensions of a rating
    sheet, column by column, and ``rename`` maps names of systems there to those of their outputs. ``language`` is the
    code of the texts' language.
    """

    name: str
    kind: Kind
    title: str
    description: str
    licence: str
    licence_url: str
    homepage: str
    citation: str
    reader: str
    items: int
    files: tuple[File, ...]
    notes: str = ""
    language: str = "en"
    of: tuple[str, ...] = ()
    within: str = ""
    dimensions: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems whose outputs or ratings the files contain, in the card's order."""
        return tuple(dict.fromkeys(file.system for file in self.files if file.system))


@dataclass(frozen=True, slots=True)
class SystemPaper:
    """The paper that describes a system, and the licence of its outputs.

    ``is_collection``: the paper is that of the collection from which the outputs come, not of the system.
    """

    short: str
    title: str
    year: int
    url: str
    licence: str
    licence_url: str
    collection: str
    is_collection: bool = False


def names() -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(_CARDS).with_suffix("").as_posix() for path in _CARDS.glob("*/*.toml")))


def cards() -> Iterator[Card]:
    return map(card, names())


def card(name: str) -> Card:
    """Return the card of a data set. A family's bare name means its test part: ``hsplit`` is ``hsplit/test``."""
    full = name if "/" in str(name) else f"{name}/test"
    is_name = isinstance(name, str) and len(name) <= _LONGEST and _NAME.fullmatch(full)
    if not is_name or not (_CARDS / f"{full}.toml").is_file():
        raise UnknownName("data set", name, names(), see="plainly data list")
    return _read(full)


def system_names(name: str) -> tuple[str, ...]:
    """Return the systems with published outputs for an evaluation set."""
    return tuple(dict.fromkeys(system for outputs in output_cards(card(name)) for system in outputs.systems))


def output_cards(evalset: Card) -> Iterator[Card]:
    """Yield the cards of the outputs for an evaluation set, then of those for the set that it is a part of."""
    if evalset.kind != "evalset":
        content = f"{evalset.name!r} contains {evalset.kind}"
        raise BadInput(f"{content}; only evaluation sets have systems. See: plainly data list")
    for name in filter(None, (evalset.name, evalset.within)):
        for path in sorted((_CARDS / "outputs").glob("*.toml")):
            # Parsing a card takes a hundred times as long as searching its text for the name of the set.
            if f'"{name}"' in path.read_text(encoding="utf-8"):
                outputs = _read(f"outputs/{path.stem}")
                if name in outputs.of:
                    yield outputs


def system_title(system: str) -> str:
    """Return a readable name of a system; ``NAME/3``, the third of several trainings, is named as a whole."""
    titles = _systems()["names"]
    return str(titles.get(system) or titles.get(_TRAINING.sub("", system)) or system)


def describe_system(system: str, *sets: str) -> tuple[SystemPaper, ...]:
    """Return the papers that describe a system whose outputs for some sets are public, with the outputs' licences.

    Where a card collects systems of many papers, and that of this one is not known, the card's own paper is returned.
    """
    papers: dict[str, SystemPaper] = {}
    for name in sets:
        for outputs in output_cards(card(name)):
            if system in outputs.systems or any(_TRAINING.sub("", other) == system for other in outputs.systems):
                papers.setdefault(outputs.name, _paper_of(system, outputs))
    return tuple(dict.fromkeys(papers.values()))


def _paper_of(system: str, outputs: Card) -> SystemPaper:
    base = system.removesuffix("/cased")
    licence: dict[str, Any] = {
        "licence": outputs.licence,
        "licence_url": outputs.licence_url,
        "collection": outputs.title,
    }
    if outputs.homepage.endswith("/easse"):
        for paper in _systems()["papers"]:
            if base in paper["systems"]:
                return SystemPaper(**{key: paper[key] for key in ("short", "title", "year", "url")}, **licence)
    entry = outputs.citation
    fields = {name: re.search(rf"\b{name}\s*=\s*\{{(.*?)\}},?\s*$", entry, re.MULTILINE) for name in _FIELDS}
    values = {name: match[1].replace("{", "").replace("}", "") if match else "" for name, match in fields.items()}
    authors = [author.partition(",")[0] for author in values["author"].split(" and ")]
    several = {1: authors[0], 2: " and ".join(authors)}.get(len(authors), f"{authors[0]} et al.")
    return SystemPaper(
        short=f"{several} {values['year']}", title=values["title"], year=int(values["year"]), url=values["url"],
        **licence, is_collection=outputs.homepage.endswith("/easse"),
    )  # fmt: skip


@cache
def _systems() -> dict[str, Any]:
    return read_shipped(__file__, "systems.toml")


def source_cards(*hashes: str) -> list[Card]:
    """Return the evaluation sets whose file of sources has one of these SHA-256 hashes."""
    texts = {name: (_CARDS / f"{name}.toml").read_text(encoding="utf-8") for name in names()}
    candidates = [_read(name) for name, text in texts.items() if any(sha256 in text for sha256 in hashes)]
    return [card for card in candidates if any(file.role == "source" and file.sha256 in hashes for file in card.files)]


@cache
def _read(name: str) -> Card:
    table: dict[str, Any] = read_shipped(__file__, f"cards/{name}.toml")
    base = table.pop("base", "")
    try:
        files = [File(url=base + entry.pop("path"), **{"role": "output"} | entry) for entry in table.pop("files")]
        card = Card(files=tuple(files), **{key: _tidy(value) for key, value in table.items()})
    except (KeyError, TypeError) as error:
        raise PlainlyError(
            f"The card of {name!r} is not complete: {error}. See docs/data.md for its fields."
        ) from error
    if card.name != name or card.kind not in KINDS:
        raise PlainlyError(f"The card of {name!r} has name {card.name!r}, kind {card.kind!r}. See docs/data.md.")
    return card


def _tidy(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip()
    return tuple(value) if isinstance(value, list) else value

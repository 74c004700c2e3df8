"""Read packs of rules: folders of YAML files as Vale has them, one rule each.

Kinds of rules that need Vale's own parser, tagger, dictionaries or scripts are left out, and a warning names them. A
file that cannot be read is an error that names the file and the key.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from plainly import data
from plainly.checks.styles.linguistic import Linguistic
from plainly.checks.styles.rates import load_rates
from plainly.checks.styles.rules import LITERAL, SCOPES, VALE_KINDS, Action, RuleFile, StyleRule, Substitution
from plainly.core.errors import BadInput, UnknownName, did_you_mean, require_package
from plainly.core.files import read_whole
from plainly.core.settings import convert_settings

_PACKS = Path(__file__).parent / "packs"
PACKS = ("en-plain", "en-easy", "de-plain", "de-easy")
_BASES = {"en-easy": "en-plain", "de-easy": "de-plain"}
KINDS: dict[str, type[RuleFile]] = {**VALE_KINDS, "linguistic": Linguistic}
# Kinds of Vale's that are left out.
OTHER_KINDS = (
    "capitalization", "conditional", "consistency", "readability", "script", "sequence", "spelling",
)  # fmt: skip
_NOT_RULES = ("config", "Vocab")  # folders beside styles


@dataclass(frozen=True)
class Styles:
    """Rules of packs, and sentences about those that were left out."""

    rules: tuple[StyleRule, ...]
    warnings: tuple[str, ...] = ()


def read_styles(paths: str | Path | Sequence[str | Path], *, all_rules: bool = False) -> Styles:
    """Read the rules of packs: names of our own (``en-plain``), folders, single files, or public lists of words.

    The easy packs begin with the rules of the plain ones; a rule of the same name takes the place of the plain one. A
    list of words is named as its data set is, ``words/plainlanguage``, and downloaded on first use. Rules that are off
    by default are left out unless ``all_rules`` is true or the path is that of the rule itself.
    """
    rules: dict[tuple[str, ...], StyleRule] = {}
    warnings: list[str] = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        if str(path) in word_lists():
            rules[(str(path),)] = read_words(str(path))
            continue
        for folder in _folders(path):
            for file in [folder] if folder.is_file() else _files(folder):
                try:
                    rule = _read_own(file) if str(path) in PACKS else read_rule(file)
                except _LeftOut as reason:
                    warnings.append(str(reason))
                    continue
                if rule.is_default or all_rules or folder.is_file():
                    rules[_identity(rule) if str(path) in PACKS else (rule.name,)] = rule
    return Styles(tuple(rules.values()), tuple(warnings))


def _folders(path: str | Path) -> list[Path]:
    """Return the folder of a pack, after that of the pack that it adds to."""
    if str(path) in PACKS:
        return [_PACKS / name for name in (_BASES.get(str(path)), str(path)) if name]
    return [Path(path)]


def _identity(rule: StyleRule) -> tuple[str, ...]:
    """Return what a rule of one of our packs has in common with the one whose place it takes: language and name."""
    pack, _, name = rule.name.partition(".")
    return pack.partition("-")[0], name


def _files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        if len(folder.parts) == 1:
            raise UnknownName("rule pack", str(folder), PACKS, see="docs/rule-packs.md")
        raise BadInput(f"There is no file or folder {folder}.")
    files = [
        file
        for file in sorted([*folder.rglob("*.yml"), *folder.rglob("*.yaml")])
        if not any(part.startswith(".") or part in _NOT_RULES for part in file.relative_to(folder).parts)
    ]
    if not files:
        raise BadInput(f"{folder} has no rules: files that end in .yml.")
    yield from files


class _LeftOut(Exception):
    """A rule that cannot be applied here, and why."""


@cache
def _loader() -> Any:
    """Return a loader of YAML that leaves ``no`` and ``1.10`` as they are written, and refuses a repeated key."""
    with require_package("Reading rules", package="pyyaml", extra="check"):
        import yaml

    class Loader(yaml.BaseLoader):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            for place, key in enumerate(keys):
                if key in keys[:place]:
                    raise yaml.MarkedYAMLError(
                        None, None, f"the key {key!r} is repeated", node.value[place][0].start_mark
                    )
            return super().construct_mapping(node, deep)

    return Loader


def read_yaml(file: Path) -> dict[str, Any]:
    """Parse a file of rules: a table whose values are texts, lists and tables of texts."""
    loader = _loader()
    import yaml

    try:
        values = loader(read_whole(file).decode("utf-8")).get_single_data()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not UTF-8.") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"{file}, line {line}: {error.problem}.") from None
    except (yaml.YAMLError, RecursionError, TypeError) as error:
        raise BadInput(f"{file} is not YAML: {str(error) or 'nested too deeply'}.") from None
    if not isinstance(values, dict):
        raise BadInput(f"{file} is not a rule: it must have keys such as extends and message.")
    return values


def read_rule(file: Path) -> StyleRule:
    """Read one rule."""
    values = {str(key).lower(): value for key, value in read_yaml(file).items() if value != ""}
    name = f"{file.resolve().parent.name}.{file.stem}"
    kind = values.get("extends")
    if kind in OTHER_KINDS or (isinstance(kind, str) and "." in kind):
        raise _LeftOut(f"The rule {name} is left out: rules of the kind {kind} are not applied.")
    if not isinstance(kind, str) or kind not in KINDS:
        near = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        raise BadInput(f"{file}: extends must be one of {', '.join([*KINDS, *OTHER_KINDS])}, not {kind!r:.80}.{near}")
    for key in ("tokens", "raw", "exceptions", "scope"):
        if isinstance(values.get(key), str):
            values[key] = [values[key]]
    settings = convert_settings(values, KINDS[kind], where=str(file), strict=False)
    scope = settings.scope or ("text",)
    if kind == "metric" and scope == ("text",):
        scope = ("summary",)
    readable = tuple(part for part in scope if _is_readable(part))
    if not readable:
        raise _LeftOut(f"The rule {name} is left out: its scope is {', '.join(scope)}, which is not prose.")
    try:
        find = settings.finder()
    except ValueError as error:
        raise BadInput(f"{file}: {error}") from None
    return StyleRule(
        name, kind, settings.message, find, settings.level, readable, settings.link.strip(),
        settings.description.strip(), settings.limit, is_default(file, name),
    )  # fmt: skip


_read_own = cache(read_rule)  # compiling the patterns of a pack takes 0.1 s


def is_default(file: Path, name: str) -> bool:
    """Return whether a rule is on by default: all are, except those of ours that fire on easy texts as often."""
    if not file.is_relative_to(_PACKS):
        return True
    rate = load_rates().get(name)
    return rate is not None and rate.is_default


def word_lists() -> tuple[str, ...]:
    """Return the names of public lists of words to avoid."""
    return tuple(name for name in data.names() if name.startswith("words/"))


def read_words(name: str) -> StyleRule:
    """Read a public list of words to avoid as a rule; entries with signs in them, such as slashes, are left out."""
    table = data.table(name)
    pairs = zip(table["phrase"], table["better"], strict=True)
    swap = {phrase.lower(): "|".join(better) for phrase, better in pairs if LITERAL.fullmatch(phrase)}
    message, action = "Use %s instead of '%s'.", Action(name="replace")
    settings = Substitution(extends="substitution", message=message, action=action, ignorecase=True, swap=swap)
    return StyleRule(
        name.replace("/", "."), settings.extends, message, settings.finder(), link=data.card(name).homepage
    )


def _is_readable(scope: str) -> bool:
    """Return whether we have what a scope names; what it excludes need not be there."""
    parts: Iterable[str] = (part.strip() for part in scope.split("&"))
    levels = {f"h{level}" for level in range(1, 7)}
    return all(part.startswith("~") or set(part.split(".")) <= SCOPES | levels for part in parts)

"""Settings that people write in TOML: each kind of file is one ``Settings`` class, which msgspec checks.

Unknown keys are refused, because a misspelt key would otherwise have no effect. Every error names the file, the key and
what is allowed there. Checks that no type expresses are in ``__post_init__`` and raise ``ValueError``; they are not
written as ``msgspec.Meta``, which can crash the interpreter when it exits (msgspec issue 717).
"""

import datetime
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import inspect

from plainly.core.errors import BadInput, did_you_mean
from plainly.core.files import read_whole

# Whole numbers stay whole, as they were written. To a type checker every whole number is a float as well.
if TYPE_CHECKING:
    Number = float
else:
    Number = int | float
T = TypeVar("T")
_DATES = (datetime.date, datetime.datetime, datetime.time)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN, _MISSING = "Object contains unknown field ", "Object missing required field "
_TYPES: dict[type[inspect.Type], str] = {
    inspect.StrType: "text in quotation marks",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.DateType: "a date such as 2030-01-31",
    inspect.StructType: "a table",
    inspect.DictType: "a table",
    inspect.NoneType: "nothing",
}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of everything that is read from a file of settings."""


def read_toml(path: str | Path) -> dict[str, Any]:
    """Parse a TOML file, or raise an error that names the fault and its line."""
    try:
        return tomllib.loads(read_whole(path).decode("utf-8"))
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except TypeError:
        raise BadInput(f"{path!r} is not a path to a TOML file.") from None
    except ValueError as error:  # not TOML, not UTF-8, or not the name of a file
        raise BadInput(f"{path} is not TOML: {error}.") from None


def read_settings(path: str | Path, kind: type[T]) -> T:
    """Read a TOML file as ``kind``."""
    return convert_settings(read_toml(path), kind, where=str(path))


def convert_settings(values: object, kind: type[T], *, where: str, strict: bool = True) -> T:
    """Convert parsed TOML, JSON or YAML to ``kind``; ``where`` begins the sentence of an error.

    Unless ``strict``, numbers and true or false may be text, as in YAML whose scalars were not interpreted.
    """
    try:
        return msgspec.convert(values, kind, builtin_types=_DATES, strict=strict)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `")
    steps = [name or int(number) for name, number in _STEP.findall(path)]
    fields, value = inspect.type_info(kind), values
    for step in steps:
        fields = _member(fields, step)
        value = value[step]  # type: ignore[index]
    key = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    location = f"{where}, {key}" if key else where
    if message.startswith(_UNKNOWN):
        structs = [member for member in _members(fields) if isinstance(member, inspect.StructType)]
        names = sorted(field.encode_name for struct in structs for field in struct.fields)
        name = message.removeprefix(_UNKNOWN).strip("`")
        raise BadInput(f"{location}: unknown key {name!r}.{did_you_mean(name, names)} Allowed: {', '.join(names)}.")
    if message.startswith(_MISSING):
        name = message.removeprefix(_MISSING).strip("`")
        raise BadInput(f"{location}: the key {name!r} is missing. It must be {_describe(_member(fields, name))}.")
    if message.startswith(("Expected", "Invalid enum")):
        raise BadInput(f"{where}: {key or 'the file'} must be {_describe(fields)}, not {value!r:.80}.")
    raise BadInput(f"{location}: {message}")


def _members(info: inspect.Type) -> Iterable[inspect.Type]:
    return info.types if isinstance(info, inspect.UnionType) else (info,)


def _member(info: inspect.Type, step: str | int) -> inspect.Type:
    """Return the type of a field, or of the members of a list."""
    for member in _members(info):
        if isinstance(member, inspect.StructType):
            return next(field.type for field in member.fields if field.encode_name == step)
        if isinstance(member, (inspect.VarTupleType, inspect.ListType)):
            return member.item_type
    return info


def _describe(info: inspect.Type) -> str:
    """Describe in words what is allowed."""
    if isinstance(info, inspect.UnionType):
        parts = [_describe(member) for member in info.types]
        return "a number" if parts == ["a whole number", "a number"] else " or ".join(parts)
    if isinstance(info, inspect.LiteralType):
        return f"one of {', '.join(map(repr, info.values))}"
    if isinstance(info, (inspect.VarTupleType, inspect.ListType)):
        return f"a list (each: {_describe(info.item_type)})"
    return _TYPES.get(type(info), "another value")

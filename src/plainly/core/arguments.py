"""What public functions are called with, checked at their door: one place, one sentence, and the annotation decides.

Types only: whether a name is known or a number makes sense says who uses it.
"""

import builtins
import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

from plainly.core.errors import BadInput, UnknownName

_Function = TypeVar("_Function", bound=Callable[..., Any])

_NOTHING = type(None)
_WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    Path: "a path",
    _NOTHING: "None",
}


def public(function: _Function) -> _Function:
    """A function that people call: what does not fit its annotations is refused in a sentence that names the option."""

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        kinds = _kinds(function)
        unknown = next((name for name in keywords if name not in kinds), None)
        if unknown is not None:
            raise UnknownName("option", unknown, kinds, see=f"help(plainly.{function.__name__})")
        try:
            given = _signature(function).bind(*args, **keywords).arguments
        except TypeError as error:
            raise BadInput(f"plainly.{function.__name__}: {error}.") from None
        for name, value in {**given, **keywords}.items():
            if name in kinds and not _fits(value, kinds[name]):
                raise BadInput(f"{name}= takes {_described(kinds[name])}, not {value!r:.60}.")
        return function(*args, **keywords)

    return checked  # type: ignore[return-value]


_signature = functools.cache(inspect.signature)  # it takes longer than many a call


@functools.cache
def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """What every parameter takes, those of ``**options`` included."""
    hints = get_type_hints(function, {}, _Names(function.__globals__))
    kinds: dict[str, Any] = {}
    own = set(_signature(function).parameters)
    for parameter in _signature(function).parameters.values():
        kind = hints[parameter.name]
        if parameter.kind is not parameter.VAR_KEYWORD:
            kinds[parameter.name] = kind
        elif get_origin(kind) is Unpack:
            kinds |= get_type_hints(get_args(kind)[0])
    # Texts are looked at where they are taken, which says which of them is none.
    return kinds | dict.fromkeys({*kinds} & {"outputs", "sources", "references"} - own, Any)


class _Names(dict[str, Any]):
    """The names of a module; what it imports for type checkers only may be anything."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


def _fits(value: Any, kind: Any) -> bool:
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, member) for member in of)
    if origin is Literal:
        return any(_fits(value, type(member)) for member in of)
    if origin is Callable:
        return callable(value)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) or hasattr(value, "keys")
    if origin is not None and issubclass(origin, Iterable):
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
            return False
        return not of or not isinstance(value, Collection) or all(_fits(element, of[0]) for element in value)
    if kind in (int, float):
        number = hasattr(value, "__index__") or (kind is float and hasattr(value, "__float__"))
        return number and not isinstance(value, bool) and not hasattr(value, "__len__")
    if kind is bool:
        return isinstance(value, bool) or type(value).__name__ == "bool"
    if kind is Path:
        return isinstance(value, os.PathLike)
    if kind is Any or not isinstance(kind, type):
        return True
    if getattr(kind, "_is_protocol", False):
        return callable(value) or "__call__" not in vars(kind)  # a metric that is none says its registry
    return isinstance(value, kind)


def _described(kind: Any) -> str:
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_described, of)))
    if origin is Literal:
        return " or ".join(map(repr, of))
    if origin is Callable:
        return "a function"
    if origin is not None and issubclass(origin, Iterable):
        return "a mapping" if issubclass(origin, Mapping) else "a list"
    return _WORDS.get(kind) or f"a {getattr(kind, '__name__', 'value')}"

"""What a rule is: where it applies, what it says, and a function that finds places in a text.

Each of Vale's kinds that can be used without its own parser and tagger becomes such a function here: existence,
substitution, occurrence, repetition and metric. The differences from Vale are listed in docs/rule-packs.md.
"""

import ast
import bisect
import contextlib
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, Protocol

import msgspec
import regex

from plainly.core.settings import Settings
from plainly.text import counts, sentences

Level = Literal["suggestion", "warning", "error"]
# The parts of a document that Vale's scopes name, for the kinds of units that we have.
SECTIONS = {
    "paragraph": ("text", "paragraph"),
    "heading": ("text", "heading"),
    "item": ("text", "list"),
}
SCOPES = frozenset({"sentence", "summary", "identifier"}.union(*SECTIONS.values()))
_FLAGS = re.compile(r"\(\?([imsx]+)\)")
LITERAL = re.compile(r"\w[\w'’ -]*\w|\w")
_GROUP = re.compile(r"(?<!\\)((?:\\\\)*)\((?!\?)")
_REFERENCE = re.compile(r"\$(?:(\d)|\{(\w+)\})")
_VERB = re.compile(r"%(?:\[(\d+)\])?[sdvq]|%%")


class ProseUnit(Protocol):
    """A stretch of prose that is judged by itself, and what it is: paragraph, heading, item, or identifier."""

    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class TextUnit:
    """A stretch of prose where there is no document."""

    text: str
    kind: str = "paragraph"


@dataclass(frozen=True)
class Area:
    """The text that a rule is applied to at once: a sentence, a unit of prose, or all units of a document."""

    text: str
    language: str
    units: Sequence[ProseUnit]


@dataclass(frozen=True)
class Hit:
    """A place in an area, what the message says about it, and what could stand there; "" means nothing at all."""

    start: int
    stop: int
    arguments: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()


Finder = Callable[[Area, float], Iterable[Hit]]  # the number is the time limit in seconds


@dataclass(frozen=True)
class StyleRule:
    """A rule of a pack. ``name`` is ``PACK.RULE``; ``is_default`` is whether the pack applies it without being asked.

    ``scope`` has alternatives, each as Vale writes them: ``heading``, ``~heading``, ``list & sentence``.
    """

    name: str
    kind: str
    message: str
    find: Finder = field(repr=False, compare=False)
    level: Level = "warning"
    scope: tuple[str, ...] = ("text",)
    link: str = ""
    description: str = ""
    limit: int = 0
    is_default: bool = True

    @property
    def is_about_documents(self) -> bool:
        """Whether the rule looks at all units of a document together."""
        return "summary" in self.scope

    def applies_to(self, kind: str, *, sentence: bool = False) -> bool:
        """Return whether the rule is about units of a kind, or about their sentences."""
        if kind == "identifier":  # not prose: only rules that ask for it
            return kind in self.scope and not sentence
        name, _, level = kind.partition(".")
        sections = {*SECTIONS.get(name, (name,)), *filter(None, [level])}
        for alternative in self.scope:
            parts = [part.strip() for part in alternative.split("&")]
            if sentence == any(part.split(".")[-1] == "sentence" for part in parts) and all(
                part[1:].split(".")[0] not in sections if part.startswith("~") else _is_within(part, sections)
                for part in parts
            ):
                return True
        return False

    def fill(self, hit: Hit) -> str:
        """Return the message about a place."""
        return fill_message(self.message, hit.arguments)


def _is_within(scope: str, sections: set[str]) -> bool:
    return set(scope.split(".")) <= {*sections, "sentence"}


def fill_message(message: str, arguments: Sequence[str]) -> str:
    """Put arguments in the place of ``%s``; those that are missing are left out.

    >>> fill_message("Use '%s' instead of '%s' (100%%).", ("begin", "commence"))
    "Use 'begin' instead of 'commence' (100%)."
    """
    left = iter(arguments)

    def argument(verb: re.Match[str]) -> str:
        if verb[0] == "%%":
            return "%"
        if verb[1]:
            return arguments[int(verb[1]) - 1] if 0 < int(verb[1]) <= len(arguments) else ""
        return next(left, "")

    return _VERB.sub(argument, message)


class Action(Settings, frozen=True):
    """What could be done about a match, as Vale's editors do it."""

    name: str = ""
    params: tuple[str, ...] = ()


class RuleFile(Settings, frozen=True, kw_only=True):
    """The keys that every kind of rule has."""

    extends: str
    message: str
    level: Level = "warning"
    scope: tuple[str, ...] = ()
    link: str = ""
    description: str = ""
    limit: int = 0
    action: Action = Action()
    name: str = ""  # this and what follows is read and has no effect here
    vocab: bool = True
    matchcase: bool = False
    tests: Any = None

    def finder(self) -> Finder:
        """Return the function that finds places; ``ValueError`` names the key that is wrong."""
        raise NotImplementedError


class Existence(RuleFile, frozen=True, kw_only=True):
    """Every match of the tokens is a finding."""

    tokens: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    ignorecase: bool = False
    nonword: bool = False
    append: bool = False

    def finder(self) -> Finder:
        tokens = [token for token in self.tokens if token.strip()]
        if not tokens and not any(self.raw):
            raise ValueError("the key 'tokens' is missing. It must be a list (each: a regular expression).")
        check_patterns("tokens", tokens)
        check_patterns("raw", ["".join(self.raw)])
        raw = "".join(map(scope_flags, self.raw))
        body = join_tokens(tokens, bounded=not self.nonword) if tokens else ""
        pattern = compile_pattern(body + raw if self.append else raw + body, self.ignorecase)
        is_allowed = exception_filter(self.exceptions)
        suggest = suggester(self.action)

        def find(area: Area, timeout: float) -> Iterator[Hit]:
            for match in pattern.finditer(area.text, timeout=timeout):
                if match[0].strip() and is_allowed(area.text, match, timeout):
                    suggestions = suggest(match[0], timeout)
                    yield Hit(match.start(), match.end(), (match[0], or_list(suggestions) or match[0]), suggestions)

        return find


class Substitution(RuleFile, frozen=True, kw_only=True):
    """Every match of a key of ``swap`` is a finding, unless the text is what should stand there."""

    swap: dict[str, str] = msgspec.field(default_factory=dict)
    exceptions: tuple[str, ...] = ()
    ignorecase: bool = False
    nonword: bool = False
    capitalize: bool = False
    pos: str = ""

    def finder(self) -> Finder:
        if not self.swap:
            raise ValueError("the key 'swap' is missing. It must be a table of words and better ones.")
        check_patterns("swap", self.swap)
        literals = {key.casefold() if self.ignorecase else key: key for key in self.swap if LITERAL.fullmatch(key)}
        others = sorted((key for key in self.swap if key not in literals.values()), key=len, reverse=True)
        groups = [f"({scope_flags(without_groups(key))})" for key in others]
        alternatives = [*([trie_pattern(literals)] if literals else ()), *groups]
        body = f"(?:{'|'.join(alternatives)})"
        pattern = compile_pattern(body if self.nonword else rf"\b{body}\b", self.ignorecase)
        is_allowed = exception_filter(self.exceptions)
        expand = {
            key: compile_pattern(scope_flags(key), self.ignorecase)
            for key in others
            if _REFERENCE.search(self.swap[key])
        }
        accept = {key: self._accepted(key) for key in self.swap}

        def find(area: Area, timeout: float) -> Iterator[Hit]:
            for match in pattern.finditer(area.text, timeout=timeout):
                words = match[0]
                key = others[match.lastindex - 1] if match.lastindex else literals[self._fold(words)]
                better = self.swap[key]
                if key in expand:
                    better = expand[key].sub(python_template(better), words, timeout=timeout)
                options = tuple(
                    dict.fromkeys(part.replace("\0", "|") for part in better.replace(r"\|", "\0").split("|"))
                )
                if words in options or accept[key](words) or not is_allowed(area.text, match, timeout):
                    continue
                if self.capitalize and words[:1].isupper():
                    options = tuple(option[:1].upper() + option[1:] for option in options)
                yield Hit(match.start(), match.end(), (self._quote(options), words), options)

        return find

    def _fold(self, words: str) -> str:
        return words.casefold() if self.ignorecase else words

    def _quote(self, options: Sequence[str]) -> str:
        """Return the better words for the message: each in quotation marks, unless it has them around the first %s."""
        if not any(options):
            return "nothing"
        quoted = or_list(options)
        first = _VERB.search(self.message)
        if first is not None and self.message[: first.start()].endswith(("'", '"', "‘", "“", "„", "«")):
            return quoted[1:-1]
        return quoted if self.action.name == "replace" or len(options) > 1 else "".join(options)

    def _accepted(self, key: str) -> Callable[[str], bool]:
        """Without an action, the better word may be a regular expression of what is acceptable."""
        better = self.swap[key]
        if self.action.name == "replace" or LITERAL.fullmatch(better) or not better:
            return lambda words: False
        try:
            pattern = compile_pattern(scope_flags(better), False)
        except regex.error:
            return lambda words: False
        return lambda words: bool(pattern.fullmatch(words, timeout=1))


class Occurrence(RuleFile, frozen=True, kw_only=True):
    """The token occurs more than ``max`` times, or less than ``min`` times, in the scope."""

    token: str
    max: int = 0
    min: int = 0
    ignorecase: bool = False

    def finder(self) -> Finder:
        if self.max <= 0 and self.min <= 0:
            raise ValueError("the key 'max' or 'min' is missing. It must be a whole number above 0.")
        check_patterns("token", [self.token])
        pattern = compile_pattern(scope_flags(self.token), self.ignorecase)

        def find(area: Area, timeout: float) -> Iterator[Hit]:
            count = len(pattern.findall(area.text, timeout=timeout))
            if (self.max > 0 and count > self.max) or (self.min > 0 and count < self.min):
                yield Hit(0, len(area.text), (str(count),))

        return find


class Repetition(RuleFile, frozen=True, kw_only=True):
    """The same token stands more than ``max`` times after itself, in one sentence."""

    tokens: tuple[str, ...]
    exceptions: tuple[str, ...] = ()
    ignorecase: bool = False
    alpha: bool = False
    max: int = 0

    def finder(self) -> Finder:
        check_patterns("tokens", self.tokens)
        pattern = compile_pattern(f"(?:{'|'.join(map(scope_flags, self.tokens))})", self.ignorecase)
        is_allowed = exception_filter(self.exceptions)

        def find(area: Area, timeout: float) -> Iterator[Hit]:
            texts = pattern.findall(area.text, timeout=timeout) if not pattern.groups else None
            if texts is not None:  # whether anything is repeated is quickly seen, and usually nothing is
                tokens = [text.strip().casefold() if self.ignorecase else text.strip() for text in texts]
                if not any(map(operator.eq, tokens, tokens[1:])):
                    return
            times = 0
            for before, match in pairwise(pattern.finditer(area.text, timeout=timeout)):
                words, previous = match[0].strip(), before[0].strip()
                is_same = words.casefold() == previous.casefold() if self.ignorecase else words == previous
                times = times + 1 if is_same and words and (not self.alpha or words.isalpha()) else 0
                span = before.start(), match.end()
                if (
                    times > self.max
                    and len(sentences.spans(area.text[slice(*span)], area.language)) < 2
                    and is_allowed(area.text, match, timeout)
                ):
                    times = 0
                    yield Hit(*span, (words,), (words,))

        return find


class MetricFormula(RuleFile, frozen=True, kw_only=True):
    """A formula over counts of the whole text, or of the units that ``scope`` names, fulfils a condition."""

    formula: str
    condition: str

    def finder(self) -> Finder:
        formula = parse_formula("formula", re.sub(r"\bheading\.(h[1-6])\b", r"heading_\1", self.formula))
        condition = parse_formula("condition", f"value {self.condition}")

        def find(area: Area, timeout: float) -> Iterator[Hit]:
            variables = count_variables(area)
            if not variables["words"]:
                return
            try:
                value = formula(variables)
                is_met = condition({**variables, "value": value})
            except (ArithmeticError, ValueError):
                return
            if is_met:
                yield Hit(0, len(area.text), (f"{value:.2f}",))

        return find


def check_patterns(key: str, patterns: Iterable[str]) -> None:
    """Raise ``ValueError`` that names the first pattern that is not a regular expression."""
    for number, pattern in enumerate(patterns, 1):
        if not LITERAL.fullmatch(pattern):
            try:
                compile_pattern(scope_flags(pattern), False)
            except (regex.error, OverflowError, RecursionError) as error:
                raise ValueError(
                    f"{key}, entry {number}: {pattern!r:.80} is not a regular expression: {error}."
                ) from None


def compile_pattern(pattern: str, ignorecase: bool) -> "regex.Pattern[str]":
    return regex.compile(pattern, regex.VERSION0 | regex.MULTILINE | (regex.IGNORECASE if ignorecase else 0))


def scope_flags(pattern: str) -> str:
    """Limit flags such as ``(?i)`` to the pattern that they stand in: it will be one of several alternatives."""
    flags = "".join(dict.fromkeys("".join(_FLAGS.findall(pattern))))
    return f"(?{flags}:{_FLAGS.sub('', pattern)})" if flags else pattern


def without_groups(pattern: str) -> str:
    """Return a pattern whose groups are not numbered."""
    return _GROUP.sub(r"\1(?:", pattern)


def join_tokens(tokens: Iterable[str], *, bounded: bool) -> str:
    """Return one pattern of all tokens; those without special characters are searched for together."""
    literals = [token for token in tokens if LITERAL.fullmatch(token)]
    others = [scope_flags(token) for token in tokens if not LITERAL.fullmatch(token)]
    body = "|".join([*([trie_pattern(literals)] if literals else ()), *others])
    return rf"\b(?:{body})\b" if bounded else f"(?:{body})"


def trie_pattern(words: Iterable[str]) -> str:
    """Return a pattern of words that reads each letter once: six times as fast as a list of alternatives.

    >>> trie_pattern(["a", "ab", "acd", "ace"])
    'a(?:b|c(?:d|e))?'
    """
    root: dict[str, Any] = {}
    for word in words:
        node = root
        for letter in word:
            node = node.setdefault(letter, {})
        node[""] = {}
    return _branches(root)


def _branches(node: Mapping[str, Any]) -> str:
    letters = []
    while len(node) == 1 and "" not in node:  # a stretch without branches, which may be long
        ((letter, node),) = node.items()
        letters.append(regex.escape(letter, literal_spaces=True))
    options = [regex.escape(letter, literal_spaces=True) + _branches(rest) for letter, rest in node.items() if letter]
    if options:
        is_single = len(options) == 1 and "" not in node
        letters.append(options[0] if is_single else f"(?:{'|'.join(options)})")
        letters.append("?" if "" in node else "")
    return "".join(letters)


Filter = Callable[[str, "regex.Match[str]", float], bool]


def exception_filter(exceptions: Sequence[str]) -> Filter:
    """Return a function that tells whether a match stays: it has no exception in it and is not a part of one."""
    check_patterns("exceptions", exceptions)
    if not exceptions:
        return lambda text, match, timeout: True
    within = compile_pattern(join_tokens(sorted(exceptions, key=len, reverse=True), bounded=True), False)
    phrases = [entry for entry in exceptions if " " in entry or r"\s" in entry]
    around = compile_pattern(join_tokens(phrases, bounded=True), True) if phrases else None
    last: tuple[str, list[tuple[int, int]]] = ("", [])  # the phrases of the text that is being searched

    def is_allowed(text: str, match: "regex.Match[str]", timeout: float) -> bool:
        nonlocal last
        if within.search(match[0].strip(), timeout=timeout):
            return False
        if around is None:
            return True
        own = last
        if text is not own[0]:
            own = last = text, [span.span() for span in around.finditer(text, timeout=timeout)]
        at = bisect.bisect_right(own[1], (match.start(), len(text)))
        return not (at and match.end() <= own[1][at - 1][1])

    return is_allowed


def suggester(action: Action) -> Callable[[str, float], tuple[str, ...]]:
    """Return a function that gives what an action would write in the place of a match."""
    if action.name == "replace":
        return lambda words, timeout: action.params
    if action.name == "remove":
        return lambda words, timeout: ("",)
    if action.name == "edit" and action.params:
        return lambda words, timeout: _edit(words, action.params[0], action.params[1:], timeout)
    return lambda words, timeout: ()


def _edit(words: str, name: str, params: Sequence[str], timeout: float) -> tuple[str, ...]:
    trims = {"trim": str.strip, "trim_left": str.lstrip, "trim_right": str.rstrip}
    with contextlib.suppress(ValueError, IndexError, regex.error):
        if name == "regex":
            return (regex.sub(scope_flags(params[0]), python_template(params[1]), words, timeout=timeout).strip(),)
        if name in trims:
            return (trims[name](words, params[0]).strip(),)
        if name == "replace":
            return (words.replace(params[0], params[1]).strip(),)
        if name == "remove":
            return (words.translate(dict.fromkeys(map(ord, params[0]))).strip(),)
        if name in ("truncate", "split"):
            return (words.split(params[0])[int(params[1]) if name == "split" else 0].strip(),)
    return ()


def python_template(replacement: str) -> str:
    """Convert ``$1`` in a replacement to what Python expects."""
    return _REFERENCE.sub(lambda match: rf"\g<{match[1] or match[2]}>", replacement.replace("\\", r"\\"))


def or_list(options: Sequence[str]) -> str:
    """Return options in words: 'a', 'b' or 'c'."""
    quoted = [f"'{option}'" for option in options if option]
    return " or ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt, "abs": abs, "floor": math.floor, "ceil": math.ceil, "log": math.log, "log10": math.log10,
    "log2": math.log2, "exp": math.exp, "pow": math.pow, "max": max, "min": min,
}  # fmt: skip
VARIABLES = frozenset(
    ("words", "sentences", "syllables", "characters", "paragraphs", "polysyllabic_words", "complex_words", "long_words",
     "list", "value", *(f"heading_h{level}" for level in range(1, 7)))
)  # fmt: skip
Formula = Callable[[Mapping[str, float]], float]


def parse_formula(key: str, text: str) -> Formula:
    """Return a function of the variables; ``ValueError`` says what in the formula is not understood."""
    source = text.strip().replace("&&", " and ").replace("||", " or ")
    if len(source) > 2000:
        raise ValueError(f"{key}: a formula has at most 2,000 characters.")
    try:
        tree = ast.parse(" ".join(source.split()), mode="eval").body
        return _evaluator(key, tree)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{key}: {source!r:.80} is not a formula.") from None


def _evaluator(key: str, node: ast.AST) -> Formula:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        value = float(node.value)
        return lambda variables: value
    if isinstance(node, ast.Name) and node.id in VARIABLES:
        name = node.id
        return lambda variables: variables[name]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FUNCTIONS:
        function, inputs = _FUNCTIONS[node.func.attr], [_evaluator(key, argument) for argument in node.args]
        return lambda variables: function(*(argument(variables) for argument in inputs))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        apply, left, right = _OPERATORS[type(node.op)], _evaluator(key, node.left), _evaluator(key, node.right)
        return lambda variables: float(apply(left(variables), right(variables)))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        apply, operand = _OPERATORS[type(node.op)], _evaluator(key, node.operand)
        return lambda variables: float(apply(operand(variables)))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        apply = _OPERATORS[type(node.ops[0])]
        left, right = _evaluator(key, node.left), _evaluator(key, node.comparators[0])
        return lambda variables: apply(left(variables), right(variables))
    if isinstance(node, ast.BoolOp):
        join, values = (all if isinstance(node.op, ast.And) else any), [_evaluator(key, part) for part in node.values]
        return lambda variables: join(value(variables) for value in values)
    raise ValueError(f"{key}: {ast.unparse(node)!r:.80} is not understood. Variables: {', '.join(sorted(VARIABLES))}.")


def count_variables(area: Area) -> dict[str, float]:
    """Return the counts that formulas use."""
    rows = counts.count([unit.text for unit in area.units], language=area.language)
    totals = dict(zip(counts.COLUMNS, map(float, rows.sum(0)), strict=True))
    kinds = [unit.kind for unit in area.units]
    return {
        "words": totals["words"],
        "sentences": totals["sentences"],
        "syllables": totals["syllables"],
        "characters": totals["characters"],
        "polysyllabic_words": totals["polysyllables"],
        "complex_words": totals["hard"],
        "long_words": totals["long"],
        "paragraphs": float(kinds.count("paragraph")),
        "list": float(sum(kind == "item" != before for before, kind in pairwise(["", *kinds]))),
        **{f"heading_h{level}": float(kinds.count(f"heading.h{level}")) for level in range(1, 7)},
    }


VALE_KINDS: dict[str, type[RuleFile]] = {
    "existence": Existence,
    "substitution": Substitution,
    "occurrence": Occurrence,
    "repetition": Repetition,
    "metric": MetricFormula,
}

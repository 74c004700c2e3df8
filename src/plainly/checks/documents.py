"""The prose of a file: paragraphs, headings and list items, with the place of every character in the file.

Markdown is parsed by markdown-it-py, HTML by the standard library's parser (which, unlike those that build a tree,
knows where everything stands), Word documents by python-docx. Front matter, code, tables, navigation and link targets
are not prose. A span of code within a sentence counts as one word, ``Code``.
"""

import bisect
import os
import re
import sys
import zipfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from plainly.core.errors import BadInput, check_choice, require_package
from plainly.io.files import PathLike, decode, expand, label, read_bytes

Kind = Literal["text", "markdown", "html", "docx"]
UnitKind = Literal["paragraph", "heading", "item"]
KINDS: dict[str, Kind] = {
    ".txt": "text", ".text": "text", ".md": "markdown", ".markdown": "markdown", ".mdown": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".docx": "docx",
}  # fmt: skip
CODE = "Code"  # what stands for a span of code; a single letter before a full stop would be an initial
LARGEST = 10_000_000  # bytes of a file: a book of 1,500 pages
_DEEPEST, _DEEPEST_INLINE = 1000, 20  # nested lists and quotations; nested marks within a paragraph
_LONG_LINE = 120  # characters: a longer line of a plain text was not wrapped, so that it is a paragraph
# Soft hyphens, marks of direction and spaces without width would cut words in two. Joiners belong to their word.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_NEW_LINE = re.compile(r"\r\n?|\n")
_IGNORE = re.compile(r"plainly:\s*ignore\s+(?P<rules>[^:>]+)(?P<reason>:.*)?", re.DOTALL)


@dataclass(frozen=True)
class Ignore:
    """A comment in a file that rules do not apply to the paragraph that it stands in or before."""

    rules: tuple[str, ...]
    reason: str
    at: int

    def covers(self, rule: str) -> bool:
        """Return whether the comment names a rule: itself, its last part (``Words`` for ``en.Words``), or all."""
        return any(name in ("all", rule) or rule.endswith(f".{name}") for name in self.rules)


@dataclass(frozen=True)
class DocumentUnit:
    """A stretch of prose that is judged, and the place of each of its characters in the file."""

    kind: UnitKind
    text: str
    starts: "array[int]"
    stops: "array[int]"
    spans: tuple[tuple[int, int, int, int], ...] = ()  # of markup: characters of the text, and those of the file

    def slice(self, start: int, stop: int) -> tuple[int, int]:
        """Return where characters of the text stand in the file, with the markup that lies wholly among them."""
        if stop <= start:
            at = self.starts[start] if start < len(self.starts) else self.stops[-1]
            return at, at
        begin, end = self.starts[start], self.stops[stop - 1]
        for first, last, opening, closing in self.spans:
            if start <= first < last <= stop:
                begin, end = min(begin, opening), max(end, closing)
        return begin, end


@dataclass(frozen=True)
class Document:
    """A file as prose. The content of a Word document is its paragraphs, one a line."""

    name: str
    content: str
    kind: Kind
    units: tuple[DocumentUnit, ...]
    ignores: tuple[Ignore, ...] = ()

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in _NEW_LINE.finditer(self.content))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of a character of the file, both from 1."""
        line = bisect.bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def unit_at(self, offset: int) -> int:
        """Return the number of the unit that a place of the file lies in or before."""
        return bisect.bisect_right(self._ends, offset)

    def ignores_of(self, unit: int) -> Sequence[Ignore]:
        """Return the comments in or before a unit."""
        return self._ignores.get(unit, ())

    @cached_property
    def _ignores(self) -> dict[int, list[Ignore]]:
        units: dict[int, list[Ignore]] = {}
        for ignore in self.ignores:
            units.setdefault(self.unit_at(ignore.at), []).append(ignore)
        return units

    @cached_property
    def _ends(self) -> list[int]:
        return [unit.stops[-1] for unit in self.units]


class _Builder:
    """Collects the characters of a unit; white space is collapsed to single spaces, and what has no width left out."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.starts, self.stops = array("L"), array("L")
        self.spans: list[tuple[int, int, int, int]] = []
        self._ends_in_space = True

    def add(self, text: str, start: int) -> None:
        """Add text that stands in the file as it is."""
        for at, part in enumerate(re.split(r"(\s+)", text)):
            if at % 2:
                self.add_space(start, start + len(part))
            elif part:
                self._add_word(part, start)
            start += len(part)

    def _add_word(self, text: str, start: int) -> None:
        at = 0
        for piece in _INVISIBLE.split(text) if not text.isascii() else [text]:
            if piece:
                self.parts.append(piece)
                self.starts.extend(range(start + at, start + at + len(piece)))
                self.stops.extend(range(start + at + 1, start + at + len(piece) + 1))
                self._ends_in_space = False
            at += len(piece) + 1

    def add_as(self, text: str, start: int, stop: int) -> None:
        """Add text that the file writes in another way: an escaped character, a span of code."""
        for part in re.split(r"(\s+)", _INVISIBLE.sub("", text)):
            if part.isspace():
                self.add_space(start, stop)
            elif part:
                self.parts.append(part)
                self.starts.extend([start] * len(part))
                self.stops.extend([stop] * len(part))
                self._ends_in_space = False

    def add_space(self, start: int, stop: int) -> None:
        if not self._ends_in_space:
            self.parts.append(" ")
            self.starts.append(start)
            self.stops.append(stop)
            self._ends_in_space = True

    def __len__(self) -> int:
        return len(self.starts)

    def finish(self, kind: UnitKind) -> DocumentUnit | None:
        """Return the unit, unless it has no text, and start again."""
        text = "".join(self.parts).rstrip()
        unit = None
        if text:
            size = len(text)
            spans = tuple((first, min(last, size), *place) for first, last, *place in self.spans)
            unit = DocumentUnit(kind, text, self.starts[:size], self.stops[:size], spans)  # type: ignore[arg-type]
        self.__init__()  # type: ignore[misc]
        return unit


def read_documents(paths: Iterable[PathLike], *, kind: Kind | None = None) -> Iterator[Document]:
    """Read files, folders (all files in them whose ending names a kind that can be read) and glob patterns."""
    names = expand([os.fspath(path) for path in paths])
    if not names:
        raise BadInput("Name a file, a folder or a pattern, or - for standard input.")
    files = [name for path in names for name in (_files_of(path) if os.path.isdir(path) else [path])]
    yield from (read_document(name, kind=kind) for name in {os.path.normpath(name): name for name in files}.values())


def _files_of(folder: str) -> list[str]:
    """Return the files in a folder that can be read; hidden ones, and packages of Node.js, belong to others."""
    files = [
        str(file)
        for file in sorted(Path(folder).rglob("*"))
        if file.suffix.lower() in KINDS
        and file.is_file()
        and file.stat().st_size
        and not any(part.startswith(".") or part == "node_modules" for part in file.relative_to(folder).parts)
    ]
    if not files:
        raise BadInput(f"The folder {folder} has no file that can be read ({', '.join(KINDS)}).")
    return files


def read_document(path: str, *, kind: Kind | None = None) -> Document:
    """Read a file; its ending names its kind, and any other is plain text."""
    kind = kind or KINDS.get(Path(path).suffix.lower(), "text")
    data = read_bytes(path)
    if len(data) > LARGEST:
        raise BadInput(
            f"{label(path)} has {len(data) / 1e6:.0f} MB, and check reads files of up to {LARGEST / 1e6:.0f} MB. "
            "Split it."
        )
    if kind == "docx":
        return _read_docx(data, label(path))
    return parse_document(decode(data, path), kind, name=label(path))


def parse_document(content: str, kind: Kind = "text", *, name: str = "") -> Document:
    """Find the prose of a text in a format."""
    check_choice("kind", kind, _READERS)
    if content.count("\0") > len(content) / 1000:
        raise BadInput(f"{name or 'The text'} is not text: it has NUL characters.")
    try:
        with _deep_recursion():
            units, comments = _READERS[kind](content)
    except RecursionError:
        raise BadInput(f"{name or 'The text'} has lists or quotations that are nested too deeply to be read.") from None
    ignores = tuple(ignore for start, markup in comments for ignore in _ignores(markup, start))
    return Document(name, content, kind, tuple(units), ignores)


def _ignores(markup: str, start: int) -> Iterator[Ignore]:
    """Yield the comments in some markup that ignore rules."""
    at = markup.find("<!--")
    while at >= 0 and (end := markup.find("-->", at)) >= 0:
        match = _IGNORE.fullmatch(markup[at + 4 : end].strip())
        if match:
            yield Ignore(tuple(re.split(r"[,\s]+", match["rules"].strip())), (match["reason"] or "")[1:].strip(), start)
        at = markup.find("<!--", end)


class _deep_recursion:
    """Let a recursive parser go as deep as ``_DEEPEST`` nested blocks; Python's own frames need no stack of C."""

    def __enter__(self) -> None:
        self._limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._limit, 20 * _DEEPEST))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self._limit)


_Comments = list[tuple[int, str]]


def _read_plain(content: str) -> tuple[list[DocumentUnit], _Comments]:
    """Read plain text: blank lines separate paragraphs, and a long line is a paragraph."""
    units: list[DocumentUnit | None] = []
    builder = _Builder()
    start = 0
    for line in re.split(r"(\r\n?|\n)", content):
        is_long = len(line) > _LONG_LINE
        if (is_long or not line.strip()) and line not in ("\r\n", "\r", "\n"):
            units.append(builder.finish("paragraph"))
        builder.add(line, start)
        start += len(line)
        if is_long:
            units.append(builder.finish("paragraph"))
    return [unit for unit in (*units, builder.finish("paragraph")) if unit], []


def _read_markdown(content: str) -> tuple[list[DocumentUnit], _Comments]:
    """Read Markdown: the rules of ``_markdown`` note where the lines and the characters of a text stand."""
    offsets = [0, *(match.end() for match in _NEW_LINE.finditer(content))]
    units: list[DocumentUnit | None] = []
    comments: _Comments = []
    kinds: list[UnitKind] = []  # of the open headings and list items
    tables = 0
    for token in _markdown().parse(content):
        if token.type in ("heading_open", "list_item_open"):
            kinds.append("heading" if token.type == "heading_open" else "item")
        elif token.type in ("heading_close", "list_item_close"):
            kinds.pop()
        elif token.type in ("table_open", "table_close"):
            tables += token.nesting
        elif token.type == "html_block":
            comments.append((offsets[token.map[0]], token.content))
        elif token.type == "inline" and not tables:
            place = _line_places(token, offsets)
            unit = _inline_unit(token.children, place, kinds[-1] if kinds else "paragraph")
            units.append(unit)
            comments += [
                (place(child.meta["at"]), child.content) for child in token.children if child.type == "html_inline"
            ]
    return [unit for unit in units if unit], comments


def _line_places(token: Any, offsets: Sequence[int]) -> Callable[[int], int]:
    """Return a function from places in an inline token to places in the file."""
    starts: list[int] = [start for start, _ in token.meta["lines"]]
    shifts: list[int] = [
        offsets[number] + column - start for number, (start, column) in enumerate(token.meta["lines"], token.map[0])
    ]

    def place(position: int) -> int:
        return position + shifts[bisect.bisect_right(starts, position) - 1]

    return place


def _inline_unit(children: Sequence[Any], place: Callable[[int], int], kind: UnitKind) -> DocumentUnit | None:
    builder = _Builder()
    opened: list[tuple[int, int]] = []
    address = False
    for child in children:
        meta = child.meta
        start, stop = (place(meta["at"]), place(meta["end"] - 1) + 1) if "at" in meta else (0, 0)
        if child.type == "text" and not address:
            builder.add(child.content, start)
        elif child.type == "text_special":
            builder.add_as(child.content, start, stop)
        elif child.type == "code_inline":
            builder.add_as(CODE, start, stop)
        elif child.type in ("softbreak", "hardbreak"):
            builder.add_space(start, stop)
        elif child.type == "link_open" and child.info == "auto":
            address = True
            builder.add_as(CODE, start, stop)
        elif child.type == "link_close" and address:
            address = False
        elif child.nesting == 1:  # Of the two marks around strong text, the tokens are the inner ones.
            opened.append((len(builder), start - max(len(child.markup) - 1, 0)))
        elif child.nesting == -1 and opened:
            first, opening = opened.pop()
            builder.spans.append((first, len(builder), opening, stop + max(len(child.markup) - 1, 0)))
    return builder.finish(kind)


@cache
def _markdown() -> Any:
    """Return a CommonMark parser with tables and front matter, whose inline tokens know where they stand.

    The parser joins neighbouring texts and forgets where they stood. Here each rule that made tokens notes the place in
    ``meta``, a rule of its own makes tokens of ordinary text, and nothing is joined.
    """
    with require_package("Reading Markdown", package="markdown-it-py", extra="check"):
        from markdown_it import MarkdownIt, rules_block, rules_inline

    parser = MarkdownIt("commonmark").enable("table")
    parser.disable(["fragments_join", "text_join"])
    # Lists may be nested deeply. Brackets may not: each level would read the rest of the paragraph once more.
    parser.core.ruler.before("block", "deep", lambda state: state.md.options.update(maxNesting=_DEEPEST))
    parser.core.ruler.before("inline", "shallow", lambda state: state.md.options.update(maxNesting=_DEEPEST_INLINE))
    own = {
        "strikethrough": rules_inline.strikethrough.tokenize,
        "emphasis": rules_inline.emphasis.tokenize,
        "backticks": rules_inline.backtick,
    }
    for name in parser.inline.ruler.get_active_rules():
        if name != "text":
            parser.inline.ruler.at(name, _noting(own.get(name) or getattr(rules_inline, name)))
    parser.inline.ruler.at("text", _noting(_take_text))
    parser.inline.ruler.push("rest", _noting(_take_character))
    for name, ends in (("heading", ["paragraph", "reference", "blockquote"]), ("lheading", []), ("paragraph", [])):
        parser.block.ruler.at(name, _noting_lines(getattr(rules_block, name)), {"alt": ends})
    parser.block.ruler.before("table", "front_matter", _skip_front_matter)
    return parser


_Rule = Callable[[Any, bool], bool]
_BlockRule = Callable[[Any, int, int, bool], bool]
_ORDINARY = re.compile(r"[^\n\\`*_~\[\]!<&]+")


def _take_text(state: Any, silent: bool) -> bool:
    match = _ORDINARY.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    return _push_text(state, silent, match.end())


def _take_character(state: Any, silent: bool) -> bool:
    return _push_text(state, silent, state.pos + 1)


def _push_text(state: Any, silent: bool, end: int) -> bool:
    if not silent:
        state.push("text", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _noting(rule: _Rule) -> _Rule:
    """Return a rule that notes in the meta data of its tokens where they begin and end in the source."""

    def run(state: Any, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent:
            if state.pending:
                state.pushPending()
            fresh = [token for token in state.tokens[before:] if "at" not in token.meta]
            at = start
            for token in fresh:
                # Several texts are the marks of one run (``**``), each of which may become an opening or closing mark.
                end = at + len(token.content) if len(fresh) > 1 and token.type == "text" else state.pos
                if token.nesting == 1:
                    token.meta.update(at=start, end=start + 1)
                elif token.type == "text" and len(fresh) > 1:
                    token.meta.update(at=at, end=end)
                    at = end
                else:
                    token.meta.update(at=start, end=state.pos)
        return True

    return run


def _noting_lines(rule: _BlockRule) -> _BlockRule:
    """Return a rule for blocks that notes in the meta data of its text where each line begins.

    That is the place in the text, and the column in the file's line. White space at both ends, and what marks lists,
    quotations and headings, are not in the text.
    """

    def run(state: Any, start: int, end: int, silent: bool) -> bool:
        before = len(state.tokens)
        if not rule(state, start, end, silent):
            return False
        for opening, token in pairwise(state.tokens[before:]):
            if token.type == "inline":
                text = state.getLines(*token.map, state.blkIndent, False)
                marks = text.index("#") + len(opening.markup) if rule.__name__ == "heading" else 0
                at = -text.index(token.content, marks)
                lines = token.meta["lines"] = []
                for number, line in enumerate(text.split("\n"), token.map[0]):
                    indent = len(line) - len(line.lstrip(" \t"))
                    begin = state.src.rfind("\n", 0, state.bMarks[number]) + 1
                    lines.append((at, state.bMarks[number] + state.tShift[number] - begin - indent))
                    at += len(line) + 1
        return True

    return run


def _skip_front_matter(state: Any, start: int, end: int, silent: bool) -> bool:
    """Skip a block between lines of three hyphens or plus signs at the beginning of a file."""
    if start != 0 or state.src[:3] not in ("---", "+++") or state.level:
        return False
    fence = state.src[:3]
    if state.getLines(0, 1, 0, False).strip() != fence:
        return False
    for line in range(1, end):
        if state.getLines(line, line + 1, 0, False).rstrip() == fence:
            state.line = line + 1
            return True
    return False


_SKIPPED = frozenset(
    [
        "head",
        "title",
        "script",
        "style",
        "nav",
        "footer",
        "table",
        "pre",
        "svg",
        "math",
        "noscript",
        "template",
        "textarea",
        "select",
        "button",
        "iframe",
        "object",
        "audio",
        "video",
        "canvas",
        "figcaption",
        "datalist",
        "dialog",
        "menu",
    ]
)
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "label",
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_CODE = frozenset(("code", "kbd", "samp"))
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "heading"))
_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "menu"))


_REFERENCE = re.compile(r"(&#?[0-9A-Za-z]+;?)")


class _HtmlReader(HTMLParser):
    """Collects the text between block elements; the parser reports where each part of the file stands."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=False)
        self.content = content
        self.units: list[DocumentUnit | None] = []
        self.comments: _Comments = []
        self.builder = _Builder()
        self.open: list[tuple[str, UnitKind]] = []  # block elements, and what text in them is
        self.counts: Counter[str] = Counter()  # of open elements
        self.skipped: list[str] = []  # the elements of one kind that are not prose
        self.code: list[tuple[str, int]] = []
        self.lines = [0, *(match.end() for match in re.finditer("\n", content))]
        self.last: dict[tuple[str, int], int] = {}
        self.in_tag = False

    # What is not closed ends with the file, as in browsers; the parser would take it for text, or raise an error.

    def parse_starttag(self, i: int) -> int:
        if not self._is_closed(">", i):
            return len(self.rawdata)
        self.in_tag = True
        end = super().parse_starttag(i)
        if end < 0:  # a quotation mark too many
            end = self.rawdata.find(">", i) + 1
            self.handle_starttag(re.split(r"[\s/>]", self.rawdata[i + 1 : end])[0].lower(), [])
        self.in_tag = False
        return end

    def parse_endtag(self, i: int) -> int:
        return super().parse_endtag(i) if self._is_closed(">", i) else len(self.rawdata)

    def parse_comment(self, i: int, report: bool = True) -> int:
        return super().parse_comment(i, report) if self._is_closed("-->", i + 3) else len(self.rawdata)

    def parse_html_declaration(self, i: int) -> int:
        return self._skip_to(">", i)

    def parse_pi(self, i: int) -> int:
        return self._skip_to(">", i)

    def _skip_to(self, mark: str, start: int) -> int:
        return self.rawdata.find(mark, start) + 1 if self._is_closed(mark, start) else len(self.rawdata)

    def _is_closed(self, mark: str, start: int) -> bool:
        """Return whether a mark follows in what is left of the file; the parser itself would try every attribute."""
        key = mark, len(self.rawdata)
        if key not in self.last:
            self.last[key] = self.rawdata.rfind(mark)
        return self.last[key] > start

    @property
    def at(self) -> int:
        line, column = self.getpos()
        return self.lines[line - 1] + column

    def end_unit(self) -> None:
        self.units.append(self.builder.finish(self.open[-1][1] if self.open else "paragraph"))

    def open_block(self, tag: str) -> None:
        """Begin a block; a paragraph has no other blocks in it, and a heading ends another one."""
        self.end_unit()
        if tag in _HEADINGS and self.open and self.open[-1][0] == "heading":
            self.close_block("heading")
        if tag != "p" and tag not in _VOID:
            name = "heading" if tag in _HEADINGS else tag
            kind = self.open[-1][1] if self.open else "paragraph"
            self.open.append((name, "heading" if name == "heading" else "item" if name == "li" else kind))
            self.counts[name] += 1

    def close_block(self, tag: str) -> None:
        self.end_unit()
        name = "heading" if tag in _HEADINGS else tag
        while self.counts[name]:
            last, _ = self.open.pop()
            self.counts[last] -= 1
            if last == name:
                break

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.skipped:
            if tag != "p" or self.skipped != ["p"]:  # the next paragraph ends a hidden one
                self.skipped += [tag] if tag == self.skipped[0] else []
                return
            self.skipped = []
        values = dict(attrs)
        is_hidden = "hidden" in values or values.get("aria-hidden") == "true" or values.get("role") in _ROLES
        if (tag in _SKIPPED or is_hidden) and tag not in _VOID:
            if tag not in _INLINE:
                self.end_unit()
            self.skipped = [tag]
        elif tag in _CODE:
            self.code.append((tag, self.at))
        elif tag == "br":
            if not self.code:
                self.add_space()
        elif tag not in _INLINE and tag not in ("img", "input"):
            self.open_block(tag)

    def add_space(self) -> None:
        end = self.content.find(">", self.at)
        self.builder.add_space(self.at, end + 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self.skipped:
            if tag == self.skipped[0]:
                self.skipped.pop()
        elif self.code:
            if tag == self.code[-1][0]:
                _, start = self.code.pop()
                end = self.content.find(">", self.at)
                if not self.code:
                    self.builder.add_as(CODE, start, end + 1 if end >= 0 else len(self.content))
        elif tag not in _INLINE and tag not in _VOID:
            self.close_block(tag)

    def handle_data(self, data: str) -> None:
        if self.in_tag:  # the parser reports a tag that it understands in part only as text
            self.handle_starttag(self.lasttag, [])
        if self.in_tag or self.skipped or self.code:
            return
        at = self.at
        for number, part in enumerate(_REFERENCE.split(self.content[at : at + len(data)])):
            if number % 2:
                self.builder.add_as(unescape(part), at, at + len(part))
            else:
                self.builder.add(part, at)
            at += len(part)

    def handle_comment(self, data: str) -> None:
        self.comments.append((self.at, f"<!--{self.content[self.at + 4 : self.at + 4 + len(data)]}-->"))


def _read_html(content: str) -> tuple[list[DocumentUnit], _Comments]:
    reader = _HtmlReader(content)
    reader.feed(content.replace("&", "+"))  # the parser stops at the first reference that it does not understand
    reader.close()
    reader.end_unit()
    return [unit for unit in reader.units if unit], reader.comments


def _read_docx(data: bytes, name: str) -> Document:
    """Read a Word document: a unit for each paragraph outside tables; its content is the paragraphs, one a line."""
    with require_package("Reading Word documents", package="python-docx", extra="check"):
        import docx
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > 20 * LARGEST:
            raise BadInput(f"{name} unpacks to {size / 1e6:.0f} MB, and check reads up to {20 * LARGEST / 1e6:.0f} MB.")
        file = docx.Document(BytesIO(data))
        styles = _word_styles(file)
        blocks = _word_blocks(file.element.body)
        paragraphs = [(_word_kind(paragraph, styles), _word_text(paragraph)) for paragraph in blocks]
    except BadInput:
        raise
    except Exception as error:  # python-docx lets errors of zip, XML and its own through
        why = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise BadInput(f"{name} is not a Word document that can be read ({why}). Save it again as .docx.") from None
    units: list[DocumentUnit | None] = []
    start = 0
    for unit_kind, text in paragraphs:
        if unit_kind is not None:
            builder = _Builder()
            builder.add(text, start)
            units.append(builder.finish(unit_kind))
        start += len(text) + 1
    texts = [text for _, text in paragraphs]
    return Document(name, "\n".join(texts), "docx", tuple(unit for unit in units if unit))


_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WORD_BREAKS = {
    f"{_WORD}{name}": text for name, text in (("tab", " "), ("br", " "), ("cr", " "), ("noBreakHyphen", "-"))
}
# What is not the text of a paragraph: what was deleted, text boxes, pictures, and settings of paragraphs and runs.
_WORD_SKIPPED = frozenset(
    f"{_WORD}{name}" for name in ("del", "moveFrom", "drawing", "pict", "object", "pPr", "rPr", "rt", "sdtPr")
) | {"{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"}


def _word_blocks(element: Any) -> Iterator[Any]:
    """Yield the paragraphs outside tables, with those in content controls, which python-docx leaves out."""
    for child in element:
        if child.tag == f"{_WORD}p":
            yield child
        elif child.tag != f"{_WORD}tbl":
            yield from _word_blocks(child)


def _word_text(element: Any) -> str:
    """Return the text of a paragraph with accepted insertions, fields and content controls, in one line."""
    parts = []
    for child in element:
        if child.tag == f"{_WORD}t":
            parts.append(_NEW_LINE.sub(" ", child.text or ""))
        elif child.tag in _WORD_BREAKS:
            parts.append(_WORD_BREAKS[child.tag])
        elif child.tag not in _WORD_SKIPPED:
            parts.append(_word_text(child))
    return "".join(parts)


def _word_styles(file: Any) -> dict[str, str]:
    """Return the names of each style and of those that it is based on, by its identifier."""
    names: dict[str, str] = {}
    based_on: dict[str, str] = {}
    for style in file.styles.element.iter(f"{_WORD}style"):
        key = style.get(f"{_WORD}styleId", "")
        for child in style:
            if child.tag in (f"{_WORD}name", f"{_WORD}basedOn"):
                (names if child.tag.endswith("name") else based_on)[key] = child.get(f"{_WORD}val", "")
    chains = {}
    for key in names:
        chain = [key]
        while (base := based_on.get(chain[-1], "")) and base not in chain:
            chain.append(base)
        chains[key] = "/".join(names.get(link, "").lower() for link in chain)
    return chains


def _word_kind(paragraph: Any, styles: Mapping[str, str]) -> UnitKind | None:
    """Return what a paragraph is, by its style and its numbering; a table of contents is not prose."""
    properties = paragraph.find(f"{_WORD}pPr")
    if properties is None:
        return "paragraph"
    style = properties.find(f"{_WORD}pStyle")
    names = styles.get(style.get(f"{_WORD}val", ""), "").split("/") if style is not None else []
    if any(name.startswith("toc ") for name in names):
        return None
    if any(name.startswith(("heading", "title", "subtitle", "überschrift", "titel")) for name in names):
        return "heading"
    is_item = properties.find(f"{_WORD}numPr") is not None or any("list" in name for name in names)
    return "item" if is_item else "paragraph"


_READERS: dict[str, Callable[[str], tuple[list[DocumentUnit], _Comments]]] = {
    "text": _read_plain,
    "markdown": _read_markdown,
    "html": _read_html,
}

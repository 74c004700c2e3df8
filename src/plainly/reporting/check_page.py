"""The page of ``plainly check``: verdicts, the hardest sentences first, and the text itself with its marks."""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from html import escape
from pathlib import Path

from plainly import __version__
from plainly.checks.document_checks import DocumentCheck, DocumentChecks
from plainly.checks.documents import CODE, Document, DocumentUnit
from plainly.checks.prose import ProsePart, level_name
from plainly.checks.rules import LEVEL
from plainly.core.formatting import count_noun, number

_MARKS = re.compile(r"^`+ ?| ?`+$|</?(?:code|kbd|samp)[^>]*>|^<|>$")
_SHOWN = 40  # hardest sentences in the list of a document
_OUTCOMES = {"pass": "passes", "review": "to be reviewed", "block": "fails"}
_STYLE = """
main{max-width:60rem}
.outcome{font-weight:700;padding:.1rem .5rem;border-radius:6px}
.outcome.pass{background:var(--add);color:var(--add-ink)}.outcome.review{background:var(--rep);color:var(--rep-ink)}
.outcome.block{background:var(--del);color:var(--del-ink)}
.hard{padding-left:2.2rem;max-width:80ch}.hard li{margin:.5rem 0}.hard small,.why,.rules small{color:var(--muted)}
.text{max-width:72ch;font-size:1.06rem;border-left:3px solid var(--line);padding-left:1rem}
.text>:not(ul),.text li{content-visibility:auto;contain-intrinsic-size:auto 5rem}
.text li,.text p{margin:.7rem 0}
.s{border-radius:3px;position:relative}
.s.h1{background:var(--rep)}.s.h2{background:var(--oth)}.s.h3{background:var(--del)}
.s[tabindex]{cursor:help;text-decoration:underline dotted var(--muted);text-underline-offset:.22em}
.s:target,.s:focus{outline:3px solid var(--accent);outline-offset:1px}
#why{position:fixed;inset:auto 0 0 0;margin:0;padding:.7rem 1rem;background:var(--raised);border-top:2px solid
var(--accent);z-index:9;max-height:40vh;overflow:auto;white-space:pre-line}
#why:empty{display:none}
.key span{padding:0 .4em;border-radius:3px}
@media print{.top,#why{display:none!important}.text *{content-visibility:visible}
.s[tabindex]::after{content:" [" attr(data-why) "]";font-size:.75em;color:#555}}
"""
_SCRIPT = """
const why=document.getElementById('why');
const show=event=>{const s=event.target.closest?.('[data-why]');
why.textContent=s?s.dataset.why.replaceAll(' · ','\\n'):''};
document.addEventListener('mouseover',show);document.addEventListener('focusin',show);
document.addEventListener('keydown',event=>{if(event.key==='Escape'){why.textContent='';document.activeElement.blur()}});
"""


def check_page(checks: DocumentChecks) -> str:
    """Return the page, complete in itself."""
    css = (Path(__file__).parent / "page" / "page.css").read_text(encoding="utf-8")
    sections = "".join(_section(number, document) for number, document in enumerate(checks.documents))
    links = "".join(
        f'<li><a href="#d{number}">{escape(document.name)}</a></li>' for number, document in enumerate(checks.documents)
    )
    failing = sum(not document.passed for document in checks.documents)
    total = count_noun(len(checks.documents), "document")
    summary = f"{total}, of which {failing or 'none'} {'fails' if failing < 2 else 'fail'}."
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><title>plainly check</title>'
        f"<style>{css}{_STYLE}</style></head><body>"
        '<header class="top"><div class="bar"><p class="brand">plainly <span>check</span></p>'
        f'<nav aria-label="Documents"><ul>{links}</ul></nav></div></header>'
        f'<main><section class="lead"><h1>Is this text plain?</h1><p class="intro">{escape(summary)} '
        "Hover over a sentence, or move to it with the tab key, to see why it is marked.</p>"
        '<p class="key"><span class="s h1">harder than asked for</span> <span class="s h2">by a level</span> '
        '<span class="s h3">by two levels or more</span> <span class="s" tabindex="-1">a reason or a finding</span></p>'
        f'</section>{sections}<p class="intro">plainly {__version__}</p></main>'
        f'<p id="why" role="status"></p><script>{_SCRIPT}</script></body></html>\n'
    )


def _section(index: int, check: DocumentCheck) -> str:
    prose = check.prose
    badge = f'<span class="outcome {check.outcome}">{_OUTCOMES[check.outcome]}</span>'
    readability = f"{prose.formula} {prose.readability}" if math.isfinite(prose.readability.value) else ""
    sizes = [count_noun(check.word_count, "word"), count_noun(len(prose.sentences), "sentence"), readability]
    places = {id(part): f"d{index}s{number}" for number, part in enumerate(prose.sentences)}
    hard = [part for part in prose.hardest if prose.is_notable(part)][:_SHOWN]
    items = "".join(
        f'<li><a href="#{places[id(part)]}">{escape(_shorten(check.quote(part)))}</a><br>'
        f"<small>{escape(_describe(part))}</small></li>"
        for part in hard
    )
    findings = [finding for finding in check.findings if not finding.waived and finding.rule != LEVEL]
    by_rule: dict[str, int] = {}
    for finding in findings:
        by_rule[finding.rule] = by_rule.get(finding.rule, 0) + 1
    rules = "".join(f"<li>{escape(rule)} <small>{count}</small></li>" for rule, count in sorted(by_rule.items()))
    return (
        f'<section id="d{index}"><h2>{escape(check.name)}</h2><p>{badge} {escape(check.summary)}</p>'
        f'<p class="intro">{escape(", ".join(filter(None, sizes)))}</p>'
        + (f'<h3>Hardest sentences</h3><ol class="hard">{items}</ol>' if items else "")
        + _paragraphs(check, places)
        + (f'<h3>Rules</h3><ul class="rules">{rules}</ul>' if rules else "")
        + f'<h3>The text</h3><div class="text" lang="{escape(prose.language or "en")}">'
        + "".join(_marked_text(check, places))
        + "</div></section>"
    )


def _paragraphs(check: DocumentCheck, places: dict[int, str]) -> str:
    """Return a list of the hardest paragraphs with their levels and readability."""
    prose = check.prose
    first = {part.passage: places[id(part)] for part in reversed(prose.sentences)}
    items = "".join(
        f'<li><a href="#{first[part.passage]}">{escape(_shorten(check.quote(part), 80))}</a><br>'
        f"<small>level {escape(str(part.level))}; {prose.formula} {part.readability}</small></li>"
        for part in check.hardest_paragraphs
        if part.passage in first
    )
    return f'<h3>Hardest paragraphs</h3><ol class="hard">{items}</ol>' if items else ""


def _marked_text(check: DocumentCheck, places: dict[int, str]) -> Iterator[str]:
    """Yield the units of the text, each sentence in an element with its reasons."""
    prose = check.prose
    sentences: dict[int, list[ProsePart]] = {}
    for part in prose.sentences:
        sentences.setdefault(part.passage, []).append(part)
    messages: dict[int, dict[str, None]] = {}  # by sentence
    for match in check.open_matches:
        own = sentences.get(match.unit, [])
        first = bisect_right(own, match.start, key=lambda part: part.stop)
        last = bisect_left(own, match.stop, key=lambda part: part.start)
        for part in own[first:last]:
            messages.setdefault(id(part), {})[match.message] = None
    tags = {"heading": "h4", "item": "li", "paragraph": "p"}
    is_list = False
    for index, passage in enumerate(prose.passages):
        text, at, parts = passage.unit.text, 0, []
        for part in sentences.get(index, ()):
            reasons = [_describe(part) if prose.is_notable(part) else "", *messages.get(id(part), ())]
            why = " · ".join(filter(None, reasons))
            over = part.level.value - prose.verdict.limit if passage.unit.kind != "heading" else math.nan
            shade = " h3" if over >= 1.5 else " h2" if over >= 0.75 else " h1" if over > 0 else ""
            focus = f' tabindex="0" data-why="{escape(why)}"' if why else ""
            parts.append(_written(check.document, passage.unit, at, part.start))
            inside = _written(check.document, passage.unit, part.start, part.stop)
            parts.append(f'<span id="{places[id(part)]}" class="s{shade}"{focus}>{inside}</span>')
            at = part.stop
        tag = tags[passage.unit.kind]
        if (tag == "li") is not is_list:
            is_list = not is_list
            yield "<ul>" if is_list else "</ul>"
        yield f"<{tag}>{''.join(parts)}{_written(check.document, passage.unit, at, len(text))}</{tag}>"
    if is_list:
        yield "</ul>"


def _written(document: Document, unit: DocumentUnit, start: int, stop: int) -> str:
    """Return characters of a unit as HTML, with spans of code as the file has them."""
    parts, at = [], start
    for match in re.finditer(CODE, unit.text[start:stop]):
        first, last = (start + edge for edge in match.span())
        begin, end = unit.starts[first], unit.stops[last - 1]
        if unit.starts[last - 1] == begin:  # all its letters stand for the same place
            code = _MARKS.sub("", document.content[begin:end])
            parts += [escape(unit.text[at:first]), f"<code>{escape(code)}</code>"]
            at = last
    return "".join([*parts, escape(unit.text[at:stop])])


def _describe(part: ProsePart) -> str:
    level = (
        f"level {level_name(part.level.value)} ({number(part.level.value)})" if math.isfinite(part.level.low) else ""
    )
    return "; ".join(filter(None, [level, *part.reasons]))


def _shorten(text: str, most: int = 220) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"

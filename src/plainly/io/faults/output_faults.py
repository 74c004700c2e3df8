"""Faults of one output: what language models put around, into or in place of an answer.

Each fault has a code, which the doctor explains, and the words that show it. A pattern counts only if the source does
not match it: a source about refusals may be simplified to a text about refusals.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial

from plainly.core.files import read_shipped
from plainly.text.languages.detection import detect

# A description of each fault for the doctor and the gate; what to do about it is in codes.toml.
SEEN = {
    "reasoning": "the model's reasoning before the text",
    "preamble": "an introduction before the text",
    "sign-off": "a closing remark after the text",
    "refusal": "a refusal or a question instead of a text",
    "markdown": "marks of Markdown",
    "wrapper": "wrapped in JSON, XML or quotation marks",
    "prompt-leak": "words of the prompt",
    "several-answers": "several answers in one",
    "broken": "an ungrammatical sentence",
    "repetition": "the same words again and again",
    "blow-up": "far longer than the source",
    "unfinished": "cut off in the middle of a sentence",
    "line-breaks": "line breaks inside",
}
_REASONING = "think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis"
# Tokens that begin and end turns, and who speaks.
_CONTROL = (
    r"<\|[a-z_]+\|>(?:assistant\b)?|\[/?INST\]|<</?SYS>>|<start_of_turn>(?:model\b)?|<end_of_turn>|<eos>|<pad>|<unk>"
    r"|^\W*(?:assistant|ai)\s*(?::|\n)"
)
_GREETING = (
    r"(?:sure|certainly|of course|absolutely|okay|ok|alright|gladly|no problem|great|hello|hi|thanks|thank you|"
    r"as (?:requested|you asked))"
)
_CONSENT = (
    r"(?:(?:sehr )?gerne?|natürlich|selbstverständlich|klar|(?:aber )?sicher|kein problem|okay|hallo|(?:vielen )?dank)"
)
_LIST = re.compile(r"(?m)^\s*[-•]\s+\S[^\n]*\n\s*[-•]\s+\S|^\s*•\s+\S")
_FENCE = re.compile(r"(?:`{3,}|~{3,})(?:[\w+-]*[ \t]*\n|(?:text|plaintext|txt|markdown|md|json|xml|html)\s)?")
_QUOTED = {'"': '"', "“": "”", "«": "»", "'": "'", "‘": "’"}
_ENDS = re.compile(r"[.!?…。！？؟।:;]['\"”’)\]»*_`}>]*\s*$|&quot;\s*$|['’]{2}\s*$|-RRB-\s*$", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SENTENCE = re.compile(r"[^.!?\n]+")
_LETTERS = 10  # fewer are an abbreviation or a heading
# Stems of a text are the first letters of its longer words, and its numbers. A sentence that is reworded boldly may
# share none with its source. All letters in bench/letters.jsonl (half "tuning") share more than .33 of the shorter
# text's stems; of outputs that belong to other letters 98 % share less than .25.
_STEM, _FEW_STEMS, _MANY_STEMS, _FEWEST_SHARED = 5, 8, 25, 0.2
# Longer than any simplification that adds explanations: measured in docs/gate.md.
_TIMES, _MORE = 2.0, 25
_VERY_SHORT = 0.6  # 37 of 6,000 references of ASSET's validation part are "unfinished"; 26 with this limit
_SHORT = 0.75  # of the source's words: a text that is shorter and has no full stop is more likely cut off than careless
# The same words one after the other: so many times for a run of so many words.
_IN_A_ROW = {1: 4, 2: 3, 3: 3}
_LONGEST_RUN = 12
_LONG_RUN = 8  # words that are not repeated by chance
# Case does not matter, ^ and $ are the ends of the text ((?m) of a line).
_PATTERNS: dict[str, tuple[str, ...]] = {
    # Up to the last closing tag, since the opening one may stand in the prompt; or an opening one that is never closed.
    "reasoning": (
        rf"(?s)^.*</(?:{_REASONING})>|<(?:{_REASONING})>.*$",
        r"(?s)^.*<\|channel\|>final<\|message\|>",
    ),
    "preamble": (
        # "Sure! Here is a simpler version:", "Of course, here's the rewritten text:", "Here you go:"
        rf"^\W*(?:{_GREETING}\b[^:\n]{{0,60}}?)?\b(?:here(?:'s|’s| is| are)|below is)\b[^.!?:\n]{{0,60}}\b(?:simpl\w*|"
        r"version|rewrit\w*|rephras\w*|reword\w*|paraphras\w*|plain\w*|easier|easy.to.read)\b[^.!?:\n]{0,60}[:.\n]",
        rf"^\W*(?:{_GREETING}\b[^:\n]{{0,60}}?)?\bhere (?:you (?:go|are)|(?:is|are) (?:the|my|your)\b[^.!?:\n]{{0,40}}"
        r"\b(?:text|sentence|paragraph|answer|attempt|output|result))\s*[:!\n]",
        r"^\W*this is\b[^.!?:\n]{0,40}\b(?:simpl\w*|rewrit\w*|rephras\w*|plain\w*|easier)\b[^.!?:\n]{0,40}:",
        # "Sure!", "Certainly:", before anything else
        r"^\W*(?:yes, )?(?:sure(?: thing)?|certainly|of course|absolutely|gladly|great question)\s*[!:.…—–-]+\s",
        r"^\W*(?:ok|okay|alright|all right|no problem|hello|hi)(?: there)?\s*!+\s",
        rf"^\W*{_GREETING}\b[^.!?:\n]{{0,60}}\b(?:simplif\w*|rewrit\w*|rephras\w*|version)\b[^.!?:\n]{{0,40}}[:.!]",
        r"^\W*let(?:'s|’s| me| us) (?:try to )?(?:simplify|rewrite|rephrase|break)\b[^.!?:\n]{0,60}[:.!]",
        r"^\W*(?:i(?:'d|’d| would) be (?:happy|glad|pleased) to|(?:happy|glad) to)\b[^:.!\n]{0,60}(?::|[!.]"
        r"\s(?:[^.!?:\n]{0,60}:)?)",
        r"^\W*(?:an?|the|one) (?:simpler|simplified|easier|plainer|shorter) (?:way|version|text|sentence)"
        r"\b[^.!?:\n]{0,40}:",
        # A label, with a colon or on a line of its own: "Simplified:", "**Simplified version:**", "## Simplified text"
        r"^[\W_]*(?:the |final )?(?:simplif(?:ied|ication)|simpler?|plain(?:[ -](?:language|english))?|rewritten|"
        r"rephrased|paraphrased?|revised|easy[ -](?:to[ -]read|read|language)|output|answer|response|result)"
        r"(?: (?:text|version|sentence|paragraph|output|answer|english|language))?"
        r"(?:[\s*_]*:[*_]*(?=\s|$)|[*_]*[ \t]*\n| [–—-] )",
        r"^\W*i(?:'ve| have)?\s(?:simplified|rewritten|rewrote|rephrased)\b[^.!?:\n]{0,80}[:.]",
        r"^\W*(?:in (?:simple|simpler|plain|other) (?:words|terms|english|language))\s*[:,]",
        # German: "Gerne! Hier ist eine einfachere Version:", "Natürlich:", "Vereinfachter Text:"
        rf"^\W*(?:{_CONSENT}\b[^:\n]{{0,60}}?)?\bhier (?:ist|sind|kommt|finden sie|findest du)\b[^.!?:\n]{{0,60}}\b"
        r"(?:\w*einfach\w*|version|fassung|verständlich\w*|umformulier\w*|leichte\w* sprache)\b[^.!?:\n]{0,60}[:.\n]",
        rf"^\W*(?:ja, )?{_CONSENT}\s*[!:…—–-]+\s",
        r"^[\W_]*(?:die |der )?(?:vereinfacht\w*|einfache\w*|umformuliert\w*|überarbeitet\w*|antwort|ergebnis|ausgabe)"
        r"(?: (?:text|version|fassung|satz|antwort|sprache))?(?:[\s*_]*:[*_]*(?=\s|$)|[*_]*[ \t]*\n)",
        r"^\W*ich habe (?:den|diesen|ihren|deinen) (?:text|satz|brief)\b[^.!?:\n]{0,80}[:.]",
        r"^\W*(?:in (?:einfachen|anderen) worten|in (?:einfacher|leichter) sprache)\s*[:,]",
    ),
    "sign-off": (
        r"(?:^|[.!?\n)]\s*)(?:i )?hope (?:this|that|it) (?:helps|is helpful|meets|makes)\b[^\n]*$",
        r"(?:^|[.!?\n)]\s*)(?:please )?(?:let me know|feel free to|don't hesitate to)\b[^\n]{0,160}$",
        r"(?:^|[.!?\n)]\s*)(?:would you like me to|do you want me to|should i|is there anything else|can i help)"
        r"\b[^\n]{0,120}\?\W*$",
        r"[\s(\[]*\bnote:?\s[^\n]{0,40}\b(?:i|this|the)\b[^\n]{0,60}\b(?:simplif\w*|original|version|rewr\w*|"
        r"wording|changed|kept|removed)\b[^\n]*$",
        r"[\s(\[]*\b(?:word count|reading level|grade level|flesch|cefr level)\s*[:=][^\n]{0,60}$",
        r"\s*\(\d{1,4} words\)\s*$",
        r"(?:^|[.!?\n)]\s*)(?:this (?:version|sentence|text|simplification)) (?:is|uses|keeps|has been|removes|"
        r"should be)\b[^\n]{0,60}\b(?:simpl\w*|easier|shorter|plain\w*|original)\b[^\n]*$",
        r"(?:^|[.!?\n)]\s*)ich hoffe,? (?:das|dies|es|diese|ich)\b[^\n]{0,20}\b(?:hilft|geholfen|hilfreich)\b[^\n]*$",
        r"(?:^|[.!?\n)]\s*)(?:lass(?:en sie)? (?:es )?mich (?:gerne )?wissen|soll ich|möchten sie, dass ich)\b"
        r"[^\n]{0,160}$",
        r"[\s(\[]*\b(?:hinweis|anmerkung):?\s[^\n]{0,60}\b(?:vereinfach\w*|original\w*|umformulier\w*|fassung)\b[^\n]*$",
    ),
    "refusal": (
        r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b",
        r"\bi(?:'m| am) (?:just )?an? (?:ai|(?:large )?language model)\b",
        r"\bi(?:'m| am|’m) (?:very |so |really )?(?:sorry|afraid)\b[^\n]{0,20}\b(?:but|that|i|there|it)\b",
        r"\b(?:sorry|apologies)[,.]? (?:but )?(?:i|we) (?:can(?:no|')?t|cannot|could not|couldn't|am|won't)\b",
        r"\bi (?:can(?:'|’)t|cannot|can not|could not|couldn(?:'|’)t|won(?:'|’)t|am (?:unable|not able) to|do not|"
        r"don(?:'|’)t) (?:be able to )?(?:help|assist|simplify|rewrite|rephrase|provide|fulfil\w*|comply|complete|"
        r"process|answer|do that|have (?:enough|access|the))\b",
        r"\b(?:please (?:provide|share|paste|give|send|enter)|could you (?:please )?(?:provide|share|paste|"
        r"clarify)|you (?:did not|didn't|haven't) provide)\b[^.\n]{0,40}\b(?:text|sentence|paragraph|source|"
        r"passage|more (?:context|information))\b",
        r"\b(?:no|without any) (?:text|sentence|input|source)\b[^.\n]{0,20}\b(?:provided|given|supplied|"
        r"to simplify)\b",
        r"\b(?:sentence|text|paragraph) (?:is already|cannot be|can't be) (?:\w+ )?(?:simpl\w*|plain|easy|"
        r"rewritten)\b",
        r"\bagainst my (?:guidelines|policy|programming)\b",
        r"\bals (?:eine? )?(?:ki\b|künstliche intelligenz|(?:großes )?sprachmodell)",
        r"\b(?:es )?tut mir (?:sehr )?leid\b[^\n]{0,20}\b(?:aber|dass|ich|das|es)\b",
        r"\b(?:entschuldigung|verzeihung|leider)[,.]? (?:aber )?(?:kann|darf|konnte) ich\b[^.\n]{0,60}\bnicht\b",
        r"\bich (?:kann|darf|konnte|werde) (?:das|dies|diesen?|ihnen|dir|dabei|den|ihren?)\b[^.\n]{0,60}\b"
        r"(?:nicht|keine?n?)\b[^.\n]{0,30}\b(?:helfen|vereinfachen|umschreiben|umformulieren|bearbeiten|beantworten|erfüllen)\b",
        r"\bbitte (?:geben|senden|schicken|teilen|fügen) sie\b[^.\n]{0,20}\b(?:den|einen) (?:text|satz|absatz)\b",
        r"\b(?:satz|text|absatz) ist bereits (?:\w+ )?(?:einfach|verständlich|in (?:einfacher|leichter) sprache)",
    ),
    "markdown": (
        r"\*\*[^*\n]+\*\*",
        r"(?<![\w_])__[^_\n]+__(?![\w_])",
        r"(?m)^#{1,6}\s+\S",
        r"```|^\s*~~~",
        r"(?m)^\s*\*\s+\S",
        r"\[[^\]\n]+\]\(https?:[^)\s]+\)",
        r"(?<![`\w])`[^`\n]+`(?![`\w])",
        r"(?<![*\w])\*[^*\s][^*\n]*[^*\s]\*(?![*\w])",
        r"(?m)^\s*>\s+\S",
        r"(?m)^\s*\|[^\n]*\|\s*$",
        r"(?m)^\s*(?:---+|\*\*\*+)\s*$",
    ),
    "wrapper": (
        r"""^\s*\{\s*["'][\w -]+["']\s*:""",
        r"""^\s*\[\s*["'{]""",
        r"</?(?:simpl\w*|output|answer|response|result|text|sentence|paragraph|p|div|span|br|b|i|strong|em|html|"
        r"body|xml|s)\b[^>\n]{0,40}/?>",
        r"^\s*<(\w+)[^>\n]*>.*</\1>\s*$",
        r"^\s*<\?xml\b",
    ),
    "prompt-leak": (
        r"\b(?:simplify|rewrite|rephrase|paraphrase)\b (?:the|this|these|each|my) (?:following|text|sentence|"
        r"paragraph|passage|original|source)\b",
        r"(?m)^\W*(?:original|source|complex|input)(?: (?:text|sentence|version|paragraph))?\s*:",
        r"(?m)^\W*(?:user|system|human|instruction|prompt|task|question)\s*:\s*\S",
        r"###\s*(?:instruction|response|input|output|human|assistant)",
        _CONTROL,
        r"\b(?:vereinfache(?:n sie)?|schreibe(?:n sie)?|formuliere(?:n sie)?) (?:den|diesen|folgenden|die folgenden)\b"
        r"[^.\n]{0,20}\b(?:text|satz|brief|absatz)",
        r"(?m)^\W*(?:original|ausgangstext|quelltext|eingabe)\s*:",
        r"\b(?:your task is to|you are (?:an?|the) (?:expert|assistant|helpful|text simplif\w*|language|editor))\b",
        r"\b(?:use (?:short|simple|simpler|plain) (?:words|sentences|language)|keep the (?:original )?meaning|"
        r"do not add (?:any )?(?:new )?information)\b",
    ),
    "several-answers": (
        r"(?m)^\W*(?:option|version|alternative|answer|candidate|variant|simplification)\s*(?:#\s*)?(?:\d+|[a-d]|"
        r"one|two|three)\b\s*[:.)\]*–—-]",
        r"(?m)^\W*(?:alternatively|another (?:option|version|way)(?: is| would be)?|or)\s*[,:]?\s*$",
        r"(?:[.!?\n]\s*)(?:alternatively|another (?:option|version|way to say (?:it|this)))\s*[:,]",
        r"(?m)^\s*1[.)]\s+\S[^\n]*\n+\s*2[.)]\s+\S",
        r"\n\s*or\s*:?\s*\n",
        r'[.!?]["”’)]?\s+(?:\(or[:,] |or, (?:more )?simply)\S',
    ),
    "broken": (
        # An article before a word that cannot follow it: "the of", "a the", "the, and"; small words twice.
        r"\b(?:the|(?-i:an?)) (?-i:of|on|at|for|from|by|with|and|or|but|is|are|was|were|be|been|has|have|had|the|"
        r"an?|he|she|it|they|we|his|their|its|these|those|will|would|could|may|should|which|who|whose|because|"
        r"although|than|into)(?![\w'’-])(?! ?[&/])",
        r"\bthe ?[,;:!?)](?!\w)",
        r"\b(?:their|its|my|our|your|an?) the\b",
        r"(?-i:\b(the|of|to|and|for|with|was|are|from|by) \1\b(?!-))",
    ),
    "full-stop": (  # inside a sentence, except after usual abbreviations
        r"(?<![.\w])(?!(?:al|approx|bros|ca|co|corp|cf|dr|ed|est|etc|ft|gen|gov|inc|jr|lt|ltd|max|min|mr|mrs|ms|"
        r"mt|no|nos|op|plc|pp|prof|rev|sq|sr|st|vol|vs)\b)\w\w+ ?\. +(?-i:[a-z]+(?![A-Za-z.]))",
    ),
}
# Words that a text must contain to match a pattern, words that end no sentence, and keys of JSON with the answer.
_WORDS = read_shipped(__file__, "words.toml")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one output: its code, its span (characters), and its words."""

    code: str
    start: int
    stop: int
    words: str


Check = Callable[[str, str], tuple[int, int] | None]


def faults(source: str, output: str) -> list[Fault]:
    """Return every fault of an output, in the order of the checks; neither an empty output nor a copy has any."""
    if not output.strip() or output == source:
        return []
    spans = ((code, check(source, output)) for code, check in CHECKS.items())
    return [Fault(code, *span, excerpt(output, *span)) for code, span in spans if span is not None]


@cache
def patterns(code: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a code."""
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _PATTERNS[code])


def _match_patterns(source: str, output: str, code: str) -> tuple[int, int] | None:
    """Return where an output matches a pattern of a code that its source does not match."""
    lower = f" {output.lower()}"
    if any(map(lower.__contains__, _WORDS["signs"][code])):  # fast, and false for almost all texts
        for pattern in patterns(code):
            match = pattern.search(output)
            if match and not pattern.search(source):
                return match.span()
    return None


def _find_broken(source: str, output: str) -> tuple[int, int] | None:
    """Find an ungrammatical sentence; a text without capitals does not show where sentences begin."""
    if output.islower():
        return None
    span = _match_patterns(source, output, "broken") or _match_patterns(source, output, "full-stop")
    return span if span is None or detect(output) in ("en", None) else None  # the patterns are English


def _find_markdown(source: str, output: str) -> tuple[int, int] | None:
    """Find marks of Markdown; a list with hyphens or bullets does not count in a text of several lines."""
    span = _match_patterns(source, output, "markdown")
    match = _LIST.search(output) if span is None and "\n" not in source.strip() else None
    return match.span() if match and not _LIST.search(source) else span


def _find_wrapper(source: str, output: str) -> tuple[int, int] | None:
    """Find JSON, XML, or quotation marks around the whole text."""
    text = output.strip()
    start, closing, inside = output.index(text), _QUOTED.get(text[0]), text[1:-1]
    is_quoted = closing and inside and text.endswith(closing) and not {text[0], closing} & set(inside)
    if is_quoted and not set(source) & {*_QUOTED, *_QUOTED.values()} - {"'", "’"}:  # the source has no quotation
        return start, start + len(text)
    return _match_patterns(source, output, "wrapper")


def _find_repetition(source: str, output: str) -> tuple[int, int] | None:
    """Find words that are repeated, or a sentence that occurs twice, unless the source does the same."""
    words = _WORD.findall(output.lower())
    if len(set(zip(words, words[1:], words[2:], strict=False))) >= len(words) - 2:
        return None  # Every run that counts repeats three words in a row.
    span = _find_loop(output)
    if span and not _find_loop(source):
        return span
    in_source = Counter(map(_normalise, _SENTENCE.findall(source)))
    before: set[str] = set()
    for match in _SENTENCE.finditer(output):
        key = _normalise(match.group())
        if key.count(" ") >= 3 and key in before and in_source[key] < 2:
            return match.span()
        before.add(key)
    return None


def _find_loop(text: str) -> tuple[int, int] | None:
    """Find a run of words that is repeated at once, too often for a figure of speech."""
    words = [(match.group().lower(), match.start(), match.end()) for match in _WORD.finditer(text)]
    again = len(words) - len({word for word, _, _ in words})
    for lag in range(1, min(_LONGEST_RUN, len(words) // 2) + 1):
        run, length = 0, lag * (_IN_A_ROW.get(lag, 2 if lag >= _LONG_RUN else 3) - 1)
        if again < length:
            continue
        for at in range(lag, len(words)):
            run = run + 1 if words[at][0] == words[at - lag][0] else 0
            if run >= length:
                return words[at - run - lag + 1][1], words[at][2]
    return None


def _normalise(sentence: str) -> str:
    return " ".join(_WORD.findall(sentence.lower()))


def _find_blow_up(source: str, output: str) -> tuple[int, int] | None:
    """Find a text that is far longer than its source."""
    before, after = len(source.split()), len(output.split())
    return (0, len(output)) if before and after > _TIMES * before + _MORE else None


def _find_unfinished(source: str, output: str, short: float = _SHORT) -> tuple[int, int] | None:
    """Find a text that is cut off in a sentence: without a full stop, unlike the source, and not after a phrase."""
    text = output.rstrip()
    if ends(text) or not ends(source):
        return None
    last = text.rsplit(None, 1)[-1]
    if text[-1] not in ",-–—([&" and not _stops_short(source, text, last, short):
        return None
    return len(text) - len(last), len(text)


def is_cut_off(source: str, output: str) -> bool:
    """Return whether an unfinished text is surely cut off, and does not just lack its full stop."""
    return _find_unfinished(source, output, _VERY_SHORT) is not None


def ends(text: str) -> bool:
    """Return whether a text ends like a sentence."""
    return _ENDS.search(text) is not None


def _stops_short(source: str, text: str, last: str, short: float) -> bool:
    """Return whether a text ends far short of its source, on a small word, in a word, or where the source goes on."""
    if last.lower() in _WORDS["never_last"] or len(text.split()) < short * len(source.split()):
        return True
    words = {word.lower() for word in source.split()}
    if last.lower() not in words and any(word.startswith(last.lower()) for word in words if len(last) < len(word) - 1):
        return last.lower() not in _normalise(source).split()
    tail = " ".join(text.split()[-3:])
    at = source.find(tail) if len(tail.split()) == 3 else -1
    return at >= 0 and re.match(r" [a-z]", source[at + len(tail) :]) is not None


def _find_line_break(source: str, output: str) -> tuple[int, int] | None:
    """Find a line break inside, unless the source has one."""
    at = output.strip().find("\n")
    if at < 0 or "\n" in source.strip():
        return None
    at += output.index(output.strip())
    return at, at + 1


def is_in_capitals(source: str, output: str) -> bool:
    """Return whether an output is in capital letters throughout, and its source is not."""
    return output.isupper() and not source.isupper() and sum(map(str.isalpha, output)) >= _LETTERS


def is_unrelated(source: str, output: str) -> bool:
    """Return whether two long texts share hardly a stem."""
    stems = _stems(source), _stems(output)
    fewer = min(map(len, stems))
    return fewer >= _MANY_STEMS and len(stems[0] & stems[1]) < _FEWEST_SHARED * fewer


def shares_nothing(source: str, output: str) -> bool:
    """Return whether an output has no stem of its source, though both have several."""
    stems = _stems(source), _stems(output)
    return min(map(len, stems)) >= _FEW_STEMS and not stems[0] & stems[1]


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.lower()) if len(word) > 3 or word.isdigit()}


def similarity(source: str, output: str) -> float:
    """Return the share of words that two texts have in common, in any order."""
    words = _WORD.findall(source.lower()), _WORD.findall(output.lower())
    return (Counter(words[0]) & Counter(words[1])).total() / max(1, *map(len, words))


CHECKS: dict[str, Check] = {
    "reasoning": partial(_match_patterns, code="reasoning"),
    "preamble": partial(_match_patterns, code="preamble"),
    "sign-off": partial(_match_patterns, code="sign-off"),
    "refusal": partial(_match_patterns, code="refusal"),
    "markdown": _find_markdown,
    "wrapper": _find_wrapper,
    "prompt-leak": partial(_match_patterns, code="prompt-leak"),
    "several-answers": partial(_match_patterns, code="several-answers"),
    "broken": _find_broken,
    "repetition": _find_repetition,
    "blow-up": _find_blow_up,
    "unfinished": _find_unfinished,
    "line-breaks": _find_line_break,
}


def excerpt(text: str, start: int, stop: int, *, blank: str = "⏎") -> str:
    """Return the words of a span, shortened for a message; ``blank`` if it has none."""
    words = " ".join(text[start:stop].split()) or blank
    return words if len(words) <= 60 else f"{words[:40]}…{words[-15:]}"


def repair(output: str, *, source: str = "") -> tuple[str, list[Fault]]:
    """Return the output without the text around the answer, and the faults removed; others need a new answer.

    >>> repair("Sure! Here is a simpler version: **The dog ran.**")[0]
    'The dog ran.'
    """
    removed: list[Fault] = []
    for _ in range(6):  # One wrapper may contain another.
        before = output
        for code, repair in _REPAIRS.items():
            for fault in faults(source, output):
                if fault.code == code and (after := repair(output)) not in ("", output):
                    removed.append(fault)
                    output = after
        if output == before:
            break
    return output, removed


def _remove_matches(output: str, code: str) -> str:
    """Remove what matches; a text that began with a capital letter still does."""
    text = output
    for pattern in patterns(code):
        text = pattern.sub(" ", text, count=1)
    text = text.strip()
    return text[:1].upper() + text[1:] if output.strip()[:1].isupper() else text


def _remove_sign_off(output: str) -> str:
    """Remove a sign-off, but not the full stop before it."""
    for pattern in patterns("sign-off"):
        if match := pattern.search(output):
            end = match.group()[0]
            output = output[: match.start()] + (end if end in ".!?)" else "")
    return output.strip()


def _remove_markdown(output: str) -> str:
    """Remove the marks of Markdown, but not the words."""
    output = _FENCE.sub("", output)
    output = re.sub(r"\[([^\]\n]+)\]\(https?:[^)\s]+\)", r"\1", output)
    output = re.sub(r"(?m)^\s*(?:#{1,6}|[-*•>])\s+", "", output)
    output = re.sub(r"(?m)^\s*(?:---+|\*\*\*+)\s*$", "", output)
    return re.sub(r"(\*\*|__|\*|`)(?=\S)([^*_`\n]+?)\1", r"\2", output).strip()


def _unwrap(output: str) -> str:
    text = output.strip()
    if text[0] in "{[":
        return _find_answer(text)
    if _QUOTED.get(text[0]) == text[-1]:
        return text[1:-1].strip()
    return re.sub(r"</?\w+\b[^>\n]{0,40}/?>|<\?xml[^>]*>", " ", text).strip()


def _find_answer(text: str) -> str:
    """Return the answer in JSON: the text under a usual key, or the only text; "" if there is none."""
    with suppress(ValueError):
        value = json.loads(text)
        entries = value if isinstance(value, dict) else dict(enumerate(value))
        texts = {key: entry for key, entry in entries.items() if isinstance(entry, str)}
        answers = [texts[key] for key in _WORDS["answer_keys"] if key in texts][:1] or list(texts.values())
        return answers[0] if len(answers) == 1 else ""
    return ""


_REPAIRS: dict[str, Callable[[str], str]] = {
    "reasoning": partial(_remove_matches, code="reasoning"),
    "prompt-leak": lambda output: re.sub(_CONTROL, " ", output, flags=re.IGNORECASE).strip(),
    "wrapper": _unwrap,
    "preamble": partial(_remove_matches, code="preamble"),
    "sign-off": _remove_sign_off,
    "markdown": _remove_markdown,
    "line-breaks": lambda output: " ".join(output.split()),
}

"""Which language is a text in? Small words decide among languages of one script; the script decides the rest.

This is no language identifier: it knows when outputs are plainly not in the language of their sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from plainly.questions.doctor.subject import Subject, check, some, warning
from plainly.result import Note

# Frequent words of each language; a word that stands in two lists counts for neither (see _owner).
_SMALL_WORDS = {
    "en": "the of and to in was is for that with as by it from are were which his had this at on has its "
    "but not their been they an be or he she who also after when can there one during into other",
    "de": "der die das und ist nicht ein eine einer einen den dem des mit von auf für im sich auch als "
    "wird wurde bei nach sind war oder werden haben hat zur zum aus über kann sie er es wie noch nur "
    "durch",
    "fr": "le la les des et est une dans qui que pour par sur au avec du pas sont aux cette il elle ont "
    "été ces ses leur mais plus comme où être fait deux après",
    "es": "el la los las y es una en que de por con para del se su al como más fue sus pero este esta son "
    "entre también está han era sobre hay desde muy sin",
    "it": "il di che è la un una per in con del della sono non si dei alla nel le gli anche più come dal "
    "ha dalla essere suo sua stato questo delle nella ma fu",
    "pt": "o que e do da em um uma para com não os no se na por mais as dos como foi ao das são sua seu "
    "também ou pela pelo até é está ser tem",
    "nl": "de het een en van is dat niet zijn op te met voor die er aan ook bij als door naar uit om wordt "
    "werd hij ze of over heeft worden maar nog deze",
    "sv": "och att det som en på är av för med den till inte har om ett han var jag men sig från vi så kan "
    "när år hade efter eller också blev",
    "da": "og at det som en på er af for med den til ikke har om et han var jeg men sig fra vi så kan når "
    "år havde efter eller også blev blive",
    "pl": "w na się nie że jest jak po od za przez ale dla był czy tak już oraz który która jego są było może",
    "tr": "ve bir bu için ile olarak çok daha olan gibi kadar sonra ama bunu şu değil oldu ise göre",
    "id": "yang dan di dari untuk dengan pada ini itu dalam adalah tidak oleh akan juga ke sebagai atau telah karena",
}
_NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "pl": "Polish", "tr": "Turkish", "id": "Indonesian",
}  # fmt: skip
_SCRIPTS = {
    "Cyrillic": "\u0400-\u04ff", "Greek": "\u0370-\u03ff", "Arabic": "\u0600-\u06ff", "Hebrew": "\u0590-\u05ff",
    "Devanagari": "\u0900-\u097f", "Thai": "\u0e00-\u0e7f", "Hangul": "\uac00-\ud7af", "Kana": "\u3040-\u30ff",
    "Han": "\u4e00-\u9fff",
}  # fmt: skip
LANGUAGES = tuple(_NAMES)


@cache
def _owner() -> dict[str, str]:
    """Small word → the one language that has it."""
    seen = Counter(word for words in _SMALL_WORDS.values() for word in set(words.split()))
    return {word: name for name, words in _SMALL_WORDS.items() for word in words.split() if seen[word] == 1}


@cache
def _script_patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(f"[{span}]") for name, span in _SCRIPTS.items()}


def guess(text: str) -> str | None:
    """A language's code, a script's name, or None where there is too little to go by."""
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        for name, pattern in _script_patterns().items():
            if len(pattern.findall(text)) > max(0.4 * letters, 3):
                # Japanese is written in Kana and Han; a little Kana makes it so.
                return "Kana" if name == "Han" and _script_patterns()["Kana"].search(text) else name
    words = text.lower().split()
    owner = _owner()
    known = Counter(owner[word] for word in words if word in owner)
    if not known:
        return None
    (best, count), *rest = known.most_common(2)
    # Foreign names and titles bring small words of other languages: it takes three of them, every seventh word, and
    # three times as many as of any other language.
    if count < max(3, len(words) / 7) or (rest and count < 3 * rest[0][1]):
        return None
    return best


@check(
    "language",
    """Some outputs or references are not in the language of the sources (or the one named by --language): multilingual
    systems slip into another language. A light test by small words and scripts, made for outputs that are plainly in
    another language; texts of a few words are not judged.""",
)
def language(subject: Subject) -> Iterator[Note]:
    expected = subject.language or guess(" ".join((subject.sources.lines or subject.references.lines)[:200]))
    if expected is None:
        return
    for texts in subject.collections():
        if texts is subject.sources and subject.language is None:
            continue
        other = [
            (place, guessed)
            for place, line in enumerate(texts.lines)
            if (guessed := guess(line)) is not None and guessed != expected
        ]
        if other:
            spoken = Counter(guessed for _, guessed in other).most_common(1)[0][0]
            ids = subject.ids(texts, [place for place, _ in other])
            yield warning(
                "language",
                f"{texts.name}: {_NAMES.get(spoken, spoken)} where {_NAMES.get(expected, expected)} is expected, "
                f"{some(ids, len(other))}: “{texts.lines[other[0][0]][:40]}…”.",
                where=texts.name,
                ids=ids,
            )

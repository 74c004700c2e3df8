"""Detection of the language of a text; None where there is too little evidence.

English is recognised by its function words; other texts are classified by py3langid, a naive Bayes classifier over
n-grams of bytes, if its probability is at least ``CERTAIN`` and does not depend on names: see docs/languages.md.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from plainly.core.errors import UnknownName
from plainly.core.files import read_shipped

_DATA = read_shipped(__file__, "detection.toml")
NAMES: dict[str, str] = _DATA["names"]
CERTAIN: float = _DATA["certain"]
_SHORTEST: int = _DATA["shortest"]
_ENGLISH = frozenset(_DATA["english"].split())
_FOREIGN = frozenset(_DATA["foreign"].split()) - _ENGLISH
_GERMAN = re.compile("|".join((*_DATA["german"].split(), r"\w*[äöüß]\w*")))
_WORD = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_LOWER_CASE_SHARE = 0.4  # of the words; a text with less is a list of names
_LONGEST = 600  # characters; more would only take longer


def check(code: str) -> str:
    """Return the code if there is such a language, otherwise raise an error."""
    if not isinstance(code, str) or code not in NAMES:
        raise UnknownName("language", code, NAMES, see="plainly score --help")
    return code


def language_name(code: str) -> str:
    """Return the English name of a language."""
    return NAMES.get(code, code)


@lru_cache(maxsize=20_000)  # several analyses look at the same texts
def detect(text: str) -> str | None:
    """Return the code of the language that a text is in, or None where it cannot be detected.

    >>> [detect(text) for text in ("Wir gehen heute nicht in die Schule.", "No offense. No defense.", "It rained.")]
    ['de', None, None]
    """
    text = text[:_LONGEST]
    words = _WORD.findall(text.lower())
    if len(words) < _SHORTEST and not _UNSPACED.search(text):
        return None
    english, foreign = (sum(map(small.__contains__, words)) for small in (_ENGLISH, _FOREIGN))
    enough = english >= max(2, len(words) / 6)
    if (enough and english > foreign) or (english and not foreign and (enough or text.isascii())):
        return "en"
    code = _classify(text)
    return code if code == "en" or english < 2 else None


def detect_or_guess(text: str) -> str:
    """Return the language of a text; of one that is too short to detect it, German or English, by single words.

    >>> [detect_or_guess(text) for text in ("Bitte nicht öffnen!", "It rained.")]
    ['de', 'en']
    """
    if code := detect(text):
        return code
    words = _WORD.findall(text.lower())
    german = sum(_GERMAN.fullmatch(word) is not None for word in words)
    return "de" if german > sum(map(_ENGLISH.__contains__, words)) else "en"


def detect_all(texts: Sequence[str]) -> tuple[list[str | None], str | None]:
    """Return the language of each text, and that of most texts whose language was detected (None if there is none)."""
    languages = [detect(text) for text in texts]
    counts = Counter(code for code in languages if code is not None)
    if not counts:
        return languages, detect(" ".join(texts)[:_LONGEST])
    first, most = counts.most_common(1)[0]
    return languages, first if 2 * most > counts.total() else None


def _classify(text: str) -> str | None:
    """Return the detector's answer where it is certain, and the same without names, which may be in any language."""
    code, probability = _detector().classify(text)
    if probability < CERTAIN:
        return None
    if code == "en":
        return "en"
    words = text.split()
    rest = [word for word in words if not word[:1].isupper()]
    is_text = len(rest) >= _LOWER_CASE_SHARE * len(words)
    return str(code) if is_text and _detector().classify(" ".join(rest))[0] == code else None


@cache
def _detector() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    detector = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    detector.set_languages(list(NAMES))
    return detector

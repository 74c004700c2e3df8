"""Which language is a text in? An answer where there is evidence, and "cannot tell" (None) where there is not.

English shows itself by small words; anything else is decided by py3langid, a naive Bayes classifier over n-grams of
bytes, if its probability is at least ``CERTAIN`` and names do not decide. Measured in docs/languages.md.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from plainly.core.errors import UnknownName
from plainly.core.files import read_shipped

_KNOWN = read_shipped(__file__, "detection.toml")
NAMES: dict[str, str] = _KNOWN["names"]
CERTAIN: float = _KNOWN["certain"]
_SHORTEST: int = _KNOWN["shortest"]
_ENGLISH = frozenset(_KNOWN["english"].split())
_FOREIGN = frozenset(_KNOWN["foreign"].split()) - _ENGLISH
_WORD = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_NAMES = 0.4  # a text with fewer words than this without a capital is a list of names
_LONGEST = 600  # characters; more adds nothing but time


def check(code: str) -> str:
    """The code of a language that is known, or an error."""
    if code not in NAMES:
        raise UnknownName("language", code, NAMES, see="plainly score --help")
    return code


def named(code: str) -> str:
    """The English name of a language."""
    return NAMES.get(code, code)


@lru_cache(maxsize=20_000)  # several questions ask about the same texts
def detect(text: str) -> str | None:
    """The code of the language that a text is in, or None where nobody can tell.

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
    code = _classified(text)
    return code if code == "en" or english < 2 else None


def tally(texts: Sequence[str]) -> tuple[list[str | None], str | None]:
    """The language of each text, and the one that most of those have that can be told; None where too few can."""
    languages = [detect(text) for text in texts]
    counts = Counter(code for code in languages if code is not None)
    if not counts:
        return languages, detect(" ".join(texts)[:_LONGEST])
    (first, most), *_ = counts.most_common(1)
    return languages, first if 2 * most > counts.total() else None


def _classified(text: str) -> str | None:
    """The detector's answer where it is certain, and the same without names, which come from anywhere."""
    code, probability = _detector().classify(text)
    if probability < CERTAIN:
        return None
    if code == "en":
        return "en"
    words = text.split()
    rest = [word for word in words if not word[:1].isupper()]
    named_only = len(rest) < _NAMES * len(words)
    return str(code) if not named_only and _detector().classify(" ".join(rest))[0] == code else None


@cache
def _detector() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    detector = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    detector.set_languages(list(NAMES))
    return detector

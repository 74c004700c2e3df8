"""Syllables in languages other than English: by rules, or by hyphenation patterns.

The rules rewrite silent and gliding letters, then count vowels and pairs of vowels that sound as one. They need nothing
installed. Both ways are measured against espeak-ng's phonemes in docs/languages.md.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from plainly.core.errors import needing
from plainly.text.languages import Language, language

_PARTS = re.compile(r"[0-9]+|[^\W\d_]+")
_LONGEST = 60  # letters of a word; the patterns would take quadratic time on whatever is longer


@dataclass(frozen=True)
class SyllableRules:
    """What to rewrite before vowels are counted, as pairs of a pattern and its replacement, and what counts as one."""

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
        # A weak vowel (i, u) joins a strong one (a, e, o) unless it has an accent; two strong ones stand apart.
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
def by_rules(code: str) -> Callable[[str], int]:
    """Syllables of a word by rule, never less than one; numbers as they are read, initials letter by letter."""
    silent = [(re.compile(pattern), instead) for pattern, instead in RULES[code].silent]
    nucleus = re.compile(RULES[code].nucleus)

    def count(letters: str) -> int:
        if len(letters) <= _LONGEST:
            for pattern, instead in silent:
                letters = pattern.sub(instead, letters)
        return len(nucleus.findall(letters))

    return _of_words(language(code), count)


@cache
def by_hyphenation(code: str) -> Callable[[str], int]:
    """Syllables of a word as hyphenation patterns part it, which never leave a single letter at an end."""
    with needing("syllables=hyphenation", package="pyphen", extra="hyphenation"):
        import pyphen
    patterns = pyphen.Pyphen(lang=code, left=1, right=1)
    return _of_words(language(code), lambda letters: len(patterns.positions(letters)) + 1)


def _of_words(known: Language, count: Callable[[str], int]) -> Callable[[str], int]:
    figures = known.syllables["figures"]

    def of_part(part: str) -> int:
        if part.isdigit():
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
    """The syllables of a number below a million as it is read; of a longer one, digit by digit."""
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
    said = _figures(str(times), table) if times > 1 else 0
    return said + int(table[name]) + (_figures(str(rest), table) if rest else 0)

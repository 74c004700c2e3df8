"""How often syllable counts differ from espeak-ng's phonemes, on 500 words a language.

Words are drawn from wordfreq's 20,000 most frequent ones, without names and figures; espeak-ng (Debian: espeak-ng) says
how they sound. Every vowel or diphthong that it writes is a syllable; or, as grammars of Spanish and Italian count, an
unstressed i or u right before a vowel belongs to that vowel's.

    python bench/syllables.py            # the words whose figures are in docs/languages.md
    python bench/syllables.py --seed 1   # others
"""

import argparse
import random
import re
import subprocess
import unicodedata

import wordfreq

from plainly.text.counts import syllable_counter
from plainly.text.languages import CODES, language

VOICES = {"en": "en-us", "pt": "pt-br"}
VOWELS = "aeiouyøœæɐɑɒɔəɘɛɜɝɚɞɤɨɪɯɵɶʉʊʌʏᵻᵿ"
_WORD = re.compile(r"[^\W\d_]{3,}")
_VOWEL = re.compile("[aeiouyœæø]")
_SWITCH = re.compile(r"\([a-z-]+\)")  # where espeak-ng takes a word for one of another language


def drawn(code: str, *, seed: int, number: int) -> list[str]:
    """Frequent words of three letters and more that have a vowel."""
    frequent = wordfreq.top_n_list(code, 20_000)
    listed = [word for word in frequent if _WORD.fullmatch(word) and _VOWEL.search(unicodedata.normalize("NFD", word))]
    return random.Random(seed).sample(listed, number)


def sounds(words: list[str], code: str) -> list[list[str]]:
    """The phonemes of each word as espeak-ng speaks it, without what is not a sound of the word."""
    command = ["espeak-ng", "-q", "--ipa", "--sep=_", "-v", VOICES.get(code, code)]
    phonetic = [subprocess.run([*command, word], capture_output=True, text=True, check=True).stdout for word in words]
    # Portuguese voices put a short vowel after every r before a consonant, which no count of syllables has.
    cleaned = (re.sub("ɾ_ə_(?![aeiouæɐɛɔ])", "ɾ_", _SWITCH.sub("_", sound)) for sound in phonetic)
    return [list(filter(None, re.split(r"[_\s]+", sound))) for sound in cleaned]


def count_syllables(phonemes: list[str], *, gliding: bool) -> int:
    """Vowels and diphthongs; ``gliding``: an unstressed i or u right before a vowel makes no syllable of its own."""
    syllabic = [_is_syllable(phoneme) for phoneme in phonemes]
    glides = 0
    if gliding:
        pairs = zip(phonemes, syllabic[1:], strict=False)
        glides = sum(phoneme in ("i", "ɪ", "u", "ʊ", "y") and after for phoneme, after in pairs)
    return max(1, sum(syllabic) - glides)


def _is_syllable(phoneme: str) -> bool:
    plain = unicodedata.normalize("NFD", phoneme)
    marked = "\u0329" in plain or "??" in plain  # a consonant that is a syllable; a vowel that has no sign
    return marked or any(vowel in plain for vowel in VOWELS)


def rate(code: str, way: str, words: list[str], truth: list[int]) -> tuple[float, float, list[str]]:
    """The share of words with another count, the bias in syllables per word, and what was miscounted."""
    counter = syllable_counter(way, code)
    counts = [counter(word) for word in words]
    wrong = [f"{w} {n}/{t}" for w, n, t in zip(words, counts, truth, strict=True) if n != t]
    return len(wrong) / len(words), (sum(counts) - sum(truth)) / len(words), wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--languages", nargs="+", default=list(CODES))
    parser.add_argument("--show", action="store_true", help="the words that were miscounted")
    args = parser.parse_args()
    print("language | way | other count than vowels spoken | other count, i and u gliding | bias, syllables per word")
    for code in args.languages:
        words = drawn(code, seed=args.seed, number=args.number)
        phonemes = sounds(words, code)
        for way in ("rules", "cmudict" if code == "en" else "hyphenation"):
            every, _, _ = rate(code, way, words, [count_syllables(word, gliding=False) for word in phonemes])
            wrong, bias, which = rate(code, way, words, [count_syllables(word, gliding=True) for word in phonemes])
            print(" | ".join([language(code).name, way, f"{every:.1%}", f"{wrong:.1%}", f"{bias:+.3f}"]))
            if args.show and way == "rules":
                print("   ", ", ".join(which))


if __name__ == "__main__":
    main()

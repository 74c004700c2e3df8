"""The attacks: what harms a text, what leaves it as good as it was, and what makes it better.

Each says what a sound metric should do. A metric that rewards the harm, or that cannot tell it from no change at all,
is fooled by it.

First the six modifications of Tanprasert & Kauchak (2021), which shorten sentences or words and help no reader. There a
word is what stands between white space, as in the tokenised outputs that the paper modified. Where the paper leaves
room, its tables decide: a period or "the" goes between two words and never to either end (of the choices tried, this
fits the drop of BLEU beside that of the replacing modifications), any word may be replaced, and the longest word is the
first of the longest.
"""

import json
import math
import re
import unicodedata
from functools import partial

import numpy as np

from plainly.auditing.attack import Item, Rewritten, attack
from plainly.auditing.word_lists import like, lists, units
from plainly.text import sentences
from plainly.text.words import spans, words

Rng = np.random.Generator

_SOURCE, _REFERENCES = frozenset({"source"}), frozenset({"references"})
_CLAUSE = re.compile(r"[^,;:.!?…，、；：。！？]+")
_NUMBER = re.compile(r"\d+")
_CLOSING = re.compile(r"\s*[.!?…。！？]*[\"'”’)\]]*\s*$")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|am|can|could|will|would|shall|should|may|might|must|has|have|had|does|did)\b", re.IGNORECASE
)
_NOT = re.compile(r"\b(ca|wo)\s?n['’]t\b|\b(can)not\b|\s+not\b|\s?n['’]t\b", re.IGNORECASE)
_PLAIN_OPENINGS = frozenset(["the", "a", "an", "this", "that", "these", "those", "he", "she", "it", "they", "we", "in"])
_LATIN = re.compile(r"[A-Za-z]")
_of_the_paper = partial(attack, expected="worse", paper=True)


def insert(output: str, word: str, rng: Rng) -> str:
    """``word`` between two words of the output; after a single word; an empty output stays empty."""
    words = output.split()
    if not words:
        return output
    words.insert(int(rng.integers(1, len(words))) if len(words) > 1 else 1, word)
    return " ".join(words)


# Decorators are applied from the last to the first: the attacks are listed in the order of the paper.
@_of_the_paper("random-the", what='the word "the" between two words', word="the")
@_of_the_paper("random-period", what="a full stop between two words", word=".")
def insert_anywhere(item: Item, rng: Rng, word: str) -> str:
    return insert(item.output, word, rng)


@_of_the_paper("replace-longest", random=False, what='"the" in place of the longest word')
def replace_longest(item: Item, rng: Rng) -> str:
    return _without_longest(item.output)


@_of_the_paper("replace-rand-the", what='"the" in place of a word', word="the")
@_of_the_paper("replace-rand-period", what="a full stop in place of a word", word=".")
def replace_any(item: Item, rng: Rng, word: str) -> str:
    words = item.output.split()
    if not words:
        return item.output
    words[int(rng.integers(len(words)))] = word
    return " ".join(words)


@_of_the_paper(
    "random-period+replace-longest", what='a full stop between two words, and "the" in place of the longest word'
)
def insert_and_replace(item: Item, rng: Rng) -> str:
    return _without_longest(insert(item.output, ".", rng))


def _without_longest(output: str) -> str:
    words = output.split()
    if not words:
        return output
    words[words.index(max(words, key=len))] = "the"
    return " ".join(words)


@attack("copy-source", "worse", "the source, not simplified at all", random=False, needs=_SOURCE)
def copy_source(item: Item, rng: Rng) -> str:
    return item.source


@attack("truncate", "worse", "only the first half of the words", random=False)
def truncate(item: Item, rng: Rng) -> str:
    words, joint = units(item.output)
    return joint.join(words[: math.ceil(len(words) / 2)]) if len(words) > 1 else item.output


@attack("drop-words", "worse", "a fifth of the words left out, at random")
def drop_words(item: Item, rng: Rng) -> str:
    words, joint = units(item.output)
    if len(words) < 2:
        return item.output
    dropped = set(rng.choice(len(words), size=max(1, len(words) // 5), replace=False).tolist())
    return joint.join(word for place, word in enumerate(words) if place not in dropped)


@attack("shuffle", "worse", "the words in random order")
def shuffle(item: Item, rng: Rng) -> str:
    words, joint = units(item.output)
    return joint.join(words[place] for place in rng.permutation(len(words))) if len(words) > 1 else item.output


@attack("repeat-clause", "worse", "one clause said twice")
def repeat_clause(item: Item, rng: Rng) -> str:
    text = item.output
    clauses = [match for match in _CLAUSE.finditer(text) if spans(match[0])]
    if not clauses:
        return text
    clause = clauses[int(rng.integers(len(clauses)))]
    # Tokenised text has a space before its punctuation, and the comma follows suit.
    comma = " , " if clause[0][-1].isspace() and clause.end() < len(text) else ", "
    return text[: clause.end()].rstrip() + comma + clause[0].strip() + text[clause.start() + len(clause[0].rstrip()) :]


@attack("swap-names", "worse", "names replaced by names from other outputs")
def swap_names(item: Item, rng: Rng) -> Rewritten:
    text, places = item.output, item.system.namer.spans(item.output)
    own = set(words(f"{item.source}\n{text}"))
    pool = [name for name in item.system.names if own.isdisjoint(words(name))] if places else []
    others: dict[str, str] = {}  # a name that stands twice becomes the same other one
    for start, end in places:
        name = text[start:end]
        if name not in others and pool:
            # One of as many words, if there is any: "New York" is no name for a person, but as long as one.
            alike = [other for other in pool if other.count(" ") == name.count(" ")] or pool
            others[name] = alike[int(rng.integers(len(alike)))]
            pool.remove(others[name])
    return Rewritten.of(text, [(start, end, others.get(text[start:end], text[start:end])) for start, end in places])


@attack("swap-numbers", "worse", "every number replaced by another with as many digits")
def swap_numbers(item: Item, rng: Rng) -> Rewritten:
    def another(match: re.Match[str]) -> str:
        digits = len(match[0])
        least = 10 ** (digits - 1) if digits > 1 else 0
        # Shifting by less than the whole range never ends where it began. Long numbers change in their last 15 digits.
        if digits > 15 or int(match[0]) < least:
            return match[0][:-1] + str((int(match[0][-1]) + int(rng.integers(1, 10))) % 10)
        room = 10**digits - least
        return str(least + (int(match[0]) - least + int(rng.integers(1, room))) % room)

    return Rewritten.of(item.output, [(*match.span(), another(match)) for match in _NUMBER.finditer(item.output)])


@attack("negate", "worse", "the opposite: a not put in, or taken out where there is one", random=False)
def negate(item: Item, rng: Rng) -> Rewritten:
    text = item.output
    if negated := _NOT.search(text):
        return Rewritten.of(text, [(*negated.span(), _affirmed(negated))])
    if auxiliary := _AUXILIARY.search(text):
        return Rewritten.of(text, [(auxiliary.end(), auxiliary.end(), " not")])
    if not _LATIN.search(text):
        return Rewritten(text)
    # Without an auxiliary to put it after, "not" goes before the whole statement.
    head = len(text) - len(text.lstrip())
    opening = text[head].lower() if text.split()[0].lower() in _PLAIN_OPENINGS else text[head]
    return Rewritten.of(text, [(head, head + 1, f"It is not true that {opening}")])


def _affirmed(negated: re.Match[str]) -> str:
    verb = negated[1] or negated[2] or ""
    return like("will" if verb.lower() == "wo" else "can", verb) if verb else ""


@attack("drop-split", "worse", "the second half of an output of several sentences left out", random=False)
def drop_split(item: Item, rng: Rng) -> str:
    parts = sentences.split(item.output)
    return " ".join(parts[: math.ceil(len(parts) / 2)]) if len(parts) > 1 else item.output


@attack("lowercase", "unchanged", "no capital letters", random=False)
def lowercase(item: Item, rng: Rng) -> str:
    return item.output.lower()


@attack("strip-punctuation", "worse", "no punctuation marks", random=False)
def strip_punctuation(item: Item, rng: Rng) -> str:
    text = item.output
    marks = {place for place, character in enumerate(text) if unicodedata.category(character).startswith("P")}
    if not marks:
        return text
    # Marks inside words stay (don't, 3.5, well-known): without them the words would be others.
    marks -= {place for start, end in spans(text) for place in range(start, end)}
    return " ".join("".join(character for place, character in enumerate(text) if place not in marks).split())


@attack("double-spaces", "unchanged", "two spaces between words in place of one", random=False)
def double_spaces(item: Item, rng: Rng) -> str:
    return item.output.replace(" ", "  ")


@attack("insert-rare-word", "worse", "a rare word between two words")
def insert_rare_word(item: Item, rng: Rng) -> str:
    rare = lists().rare
    return insert(item.output, rare[int(rng.integers(len(rare)))], rng)


@attack("other-output", "worse", "the output for another item")
def other_output(item: Item, rng: Rng) -> str:
    return item.system.outputs[item.other(rng)]


@attack("other-reference", "worse", "a reference of another item", needs=_REFERENCES)
def other_reference(item: Item, rng: Rng) -> str:
    references = item.system.evalset.references[item.other(rng)]
    return references[int(rng.integers(len(references)))]


@attack("hallucinate", "worse", "a clause at the end that the source does not say")
def hallucinate(item: Item, rng: Rng) -> Rewritten:
    text = item.output
    closing = _CLOSING.search(text)
    end = closing.start() if closing else len(text)
    if not text[:end].strip():
        return Rewritten(text)
    clauses = lists().clauses
    comma = " , " if text[end:].strip() and text[end].isspace() else ", "  # as the text has its punctuation
    return Rewritten.of(text, [(end, end, comma + clauses[int(rng.integers(len(clauses)))])])


@attack("refusal", "worse", "a sentence that declines to answer, as chat models write them")
def refusal(item: Item, rng: Rng) -> str:
    refusals = lists().refusals
    return refusals[int(rng.integers(len(refusals)))]


@attack("empty", "worse", "nothing at all", random=False)
def empty(item: Item, rng: Rng) -> str:
    return ""


@attack("repeat-five-times", "worse", "the whole output five times over", random=False)
def repeat_five_times(item: Item, rng: Rng) -> Rewritten:
    text = item.output.rstrip()
    return Rewritten.of(item.output, [(len(text), len(text), f" {text}" * 4)]) if text else Rewritten(item.output)


@attack("chatty-opening", "worse", 'before it, an opening as chat models write: "Sure, here is a simpler version:"')
def chatty_opening(item: Item, rng: Rng) -> Rewritten:
    openings = lists().openings
    return _wrapped(item.output, f"{openings[int(rng.integers(len(openings)))]} ", "")


@attack("markdown-wrapper", "worse", "in bold under a heading of Markdown, as chat models write", random=False)
def markdown_wrapper(item: Item, rng: Rng) -> Rewritten:
    return _wrapped(item.output, "## Simplified text\n\n**", "**")


@attack("json-wrapper", "worse", "as the value of a field in JSON", random=False)
def json_wrapper(item: Item, rng: Rng) -> str:
    return json.dumps({"simplified": item.output}, ensure_ascii=False) if item.output.strip() else item.output


def _wrapped(text: str, before: str, after: str) -> Rewritten:
    return Rewritten.of(text, [(0, 0, before), (len(text), len(text), after)]) if text.strip() else Rewritten(text)


@attack("rarer-synonyms", "worse", "common words replaced by rarer ones of the same meaning", random=False)
def rarer_synonyms(item: Item, rng: Rng) -> Rewritten:
    return _exchange(item.output, lists().rarer)


@attack("commoner-synonyms", "better", "rare words replaced by commoner ones of the same meaning", random=False)
def commoner_synonyms(item: Item, rng: Rng) -> Rewritten:
    return _exchange(item.output, lists().commoner)


@attack("oracle", "better", "a reference of the item itself", needs=_REFERENCES)
def oracle(item: Item, rng: Rng) -> str:
    references = item.references
    return references[int(rng.integers(len(references)))]


def _exchange(text: str, others: dict[str, str]) -> Rewritten:
    words = ((start, end, text[start:end]) for start, end in spans(text))
    return Rewritten.of(
        text, [(start, end, like(others[word.lower()], word)) for start, end, word in words if word.lower() in others]
    )

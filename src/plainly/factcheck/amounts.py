"""Numbers, amounts and dates of an output beside those of its source: the same, harmless, changed, or new."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations

from plainly.factcheck.finding import FactFinding
from plainly.factcheck.quantities import Quantity, quantities
from plainly.factcheck.reading import Matched
from plainly.text.lexicon import KIND

_PLAIN = frozenset({"count", "ordinal", "year", "special", "roman", "fraction"})
_EXACT = 1e-6  # how far apart, relatively, two values that are the same may be
_NEARBY = 64  # how many of the source's numbers a new one is compared with: in a long text, those around its place


def check_amounts(pair: Matched) -> Iterator[FactFinding]:
    """What happened to every quantity of the output."""
    sources, outputs = quantities(pair.source.text), quantities(pair.output.text)
    if not outputs:
        return
    by_value = _Sorted([quantity.value for quantity in sources])
    equals: dict[tuple[str, float, str], list[Quantity]] = {}
    open_outputs = []
    for quantity in outputs:
        key = quantity.kind, quantity.value, quantity.text
        if key not in equals:
            candidates = (sources[at] for at in by_value.near(*_readings(quantity)))
            equals[key] = [other for other in candidates if _equal(quantity, other)]
        if equals[key]:
            yield from _same(pair, quantity, equals[key])
        else:
            open_outputs.append(quantity)
    free = set(sources).difference(*equals.values())
    first = any(token == "I" and at not in pair.source.firsts for at, token in enumerate(pair.source.tokens))
    for quantity in open_outputs:
        if first and quantity.value == 1:  # World War I and World War 1
            continue
        yield from _unequal(pair, quantity, _nearby(pair, quantity, sources), free)
    yield from _exchanged(pair, sources, outputs)


class _Sorted:
    """Values that can be asked for what is near one, so that many numbers in a long text take no square of time."""

    def __init__(self, values: Sequence[float]):
        self.order = sorted(range(len(values)), key=values.__getitem__)
        self.values = [values[at] for at in self.order]

    def near(self, *values: float) -> list[int]:
        """The places of all that may be equal to one of these, in the order of the text."""
        places: set[int] = set()
        for value in values:
            margin = 2 * _EXACT * max(abs(value), 1e-9)
            start, end = bisect_left(self.values, value - margin), bisect_right(self.values, value + margin)
            places.update(self.order[start:end])
        return sorted(places)


def _nearby(pair: Matched, quantity: Quantity, sources: Sequence[Quantity]) -> Sequence[Quantity]:
    place = quantity.span[0] * len(pair.source.text) / len(pair.output.text)
    middle = bisect_left(sources, place, key=lambda other: other.span[0])
    start = max(0, min(middle - _NEARBY // 2, len(sources) - _NEARBY))
    return sources[start : start + _NEARBY]


def _readings(quantity: Quantity) -> tuple[float, ...]:
    """The values that a number may stand for: "3/4" is a fraction or one of two days."""
    if quantity.kind == "fraction" and "/" in quantity.text:
        month, day = map(int, quantity.text.split("/"))
        return quantity.value, month * 100 + day, day * 100 + month
    if quantity.kind in ("either", "day"):
        return quantity.value, quantity.value % 100 * 100 + quantity.value // 100
    return (quantity.value,)


def _equal(quantity: Quantity, other: Quantity) -> bool:
    """Whether a number of the source has the same value."""
    kinds = {quantity.kind, other.kind}
    if (quantity.kind == "fraction" and other.kind == "day" and "/" in quantity.text) or (
        "either" in kinds and kinds <= {"either", "day"}
    ):
        return other.value in _readings(quantity)
    return (len(kinds) == 1 or kinds <= _PLAIN) and _close(quantity.value, other.value)


def _same(pair: Matched, quantity: Quantity, others: Sequence[Quantity]) -> Iterator[FactFinding]:
    """An equal number: of the same unit, or not; written in the same way, or not."""
    units = {other.unit for other in others}
    if {quantity.unit, *units} <= {"sterling", "mass"} and "pound" in (quantity.text + "".join(o.text for o in others)):
        return  # £5 and 5 pounds
    if quantity.unit and quantity.unit not in units and "" not in units:
        other = others[0]
        sure = 0.4 if quantity.unit == "temperature" or other.unit == "temperature" else 0.8
        yield pair.at_spans("changed", "unit", sure, (other.span,), (quantity.span,))
        return
    scales = {other.scale for other in others if other.unit == quantity.unit}
    if quantity.unit and scales and not any(_close(scale, quantity.scale) for scale in scales):
        yield pair.at_spans("changed", "unit", 0.85, (others[0].span,), (quantity.span,))
        return
    if not any(other.text.lower() == quantity.text.lower() for other in others):
        bare = [other.text.lower().strip("the ") for other in others]
        if quantity.text.lower() not in bare and not quantity.weak:
            yield pair.at_spans("harmless", "notation", 1.0, (others[0].span,), (quantity.span,))


def _unequal(
    pair: Matched, quantity: Quantity, sources: Sequence[Quantity], free: set[Quantity]
) -> Iterator[FactFinding]:
    """A number that the source has not: rounded, converted, less exact, computed; or changed, or new."""
    for other in sources:
        kind = _harmless(quantity, other)
        if kind:
            free.discard(other)
            yield pair.at_spans("harmless", kind, 1.0, (other.span,), (quantity.span,))
            return
    if _computed(quantity, sources, pair):
        yield pair.at_spans("harmless", "arithmetic", 0.6, (), (quantity.span,))
        return
    counterpart = _counterpart(pair, quantity, [other for other in sources if other in free])
    what = "date" if quantity.is_date else "quantity" if quantity.unit else "number"
    if counterpart is not None:
        free.remove(counterpart)
        sure = 0.92
        if quantity.weak or counterpart.weak or (quantity.words and quantity.value <= 2):
            sure = 0.6 if _in_place(pair, quantity, counterpart) else 0.35
        yield pair.at_spans("changed", what, sure, (counterpart.span,), (quantity.span,))
        return
    if quantity.weak or quantity.kind == "special":
        return
    small = quantity.words and quantity.value <= 10
    sure = 0.35 if small and quantity.value <= 2 else 0.55 if small else 0.9
    yield pair.at_spans("added", what, sure, (), (quantity.span,))


def _harmless(quantity: Quantity, other: Quantity) -> str:
    """In what harmless way one number stands for another, if it does."""
    a, b = other, quantity
    kinds = {a.kind, b.kind}
    if kinds <= {"year", "decade", "century", "count"} and kinds & {"decade", "century"}:
        return _less_exact(a, b)
    if a.kind == "day" and b.kind in ("ordinal", "count") and b.value == int(a.value) % 100:
        return "notation"
    if a.kind == "day" and b.kind == "month":
        return "precision" if int(a.value) // 100 * 100 == b.value else ""
    if kinds & {"day", "month", "clock", "code", "decade", "century", "weekday", "either"}:
        if a.kind == "code" and b.kind in ("count", "code") and _digits(a.text) == _digits(b.text) != "":
            return "notation"
        return "notation" if kinds == {"code", "count"} and _digits(a.text) == _digits(b.text) else ""
    if a.unit == "share" and b.kind == "fraction" and abs(a.value / 100 - b.value) < 0.03:
        return "rounding" if not _close(a.value / 100, b.value) else "notation"
    if b.unit == "share" and a.kind == "fraction" and abs(b.value / 100 - a.value) < 0.03:
        return "notation"
    if a.unit and a.unit == b.unit and a.scale != b.scale and a.unit != "temperature":
        if _close(a.amount, b.amount, 0.001):
            return "notation"
        return "conversion" if _close(a.amount, b.amount, 0.06) else ""
    if a.unit == b.unit == "temperature" and any(
        _close(b.value, value, 0.06) for value in (a.value * 1.8 + 32, (a.value - 32) / 1.8)
    ):
        return "conversion"
    if "ordinal" in kinds and kinds != {"ordinal"}:
        return ""
    if a.kind == "year" or b.kind == "year" or (a.unit and b.unit and a.unit != b.unit):
        return ""
    return "rounding" if _rounded(a, b) else ""


def _rounded(a: Quantity, b: Quantity) -> bool:
    """Whether b is a rounded: close to it, and with fewer digits that count."""
    if not a.value or (a.value < 11 and float(a.value).is_integer()):
        return False
    nearness = abs(a.amount - b.amount) / abs(a.amount)
    fewer = _significant(b.value) < _significant(a.value)
    return fewer and nearness <= (0.12 if b.about else 0.05 if b.value >= 100 else 0.08)


def _significant(value: float) -> int:
    digits = f"{value:.6f}".rstrip("0").rstrip(".") if not float(value).is_integer() else str(int(value)).rstrip("0")
    return len(digits.replace(".", "").lstrip("0")) or 1


def _less_exact(a: Quantity, b: Quantity) -> str:
    """1985 and the 1980s, the 20th century and the 1900s; "5th century" and "the 1400s" are not the same."""
    if {a.kind, b.kind} == {"decade", "century"}:
        decade, century = (a, b) if a.kind == "decade" else (b, a)
        if decade.value // 100 + 1 != century.value:
            return ""
        return "notation" if decade.value % 100 == 0 else "precision" if b is century else ""
    if b.kind in ("decade", "century") and a.kind in ("year", "count", "decade"):
        if b.kind == "decade":
            whole = b.value % 100 == 0 and a.value // 100 == b.value // 100
            return "precision" if a.value // 10 == b.value // 10 or whole else ""
        return "precision" if b.value in (a.value // 100 + 1, (a.value - 1) // 100 + 1) else ""
    return ""


def _computed(quantity: Quantity, sources: Sequence[Quantity], pair: Matched) -> bool:
    """Whether a number is a sum or a difference of two, or counts what the source lists."""
    if quantity.is_date or quantity.kind not in ("count", "special"):
        return False
    plain = [other.value for other in sources if other.kind in ("count", "year") and not other.weak]
    if quantity.value > 2 or not quantity.words:
        for a, b in combinations(plain, 2):
            if quantity.unit == "share" and max(a, b) and abs(100 * min(a, b) / max(a, b) - quantity.value) <= 1.5:
                return True
            years = min(a, b) >= 1000 and max(a, b) <= 2100
            if quantity.value == abs(a - b) and (years or quantity.value > 10):
                return True
            if quantity.value == a + b and not years:
                return True
    if not (quantity.words and 2 <= quantity.value <= 9):
        return False
    return quantity.value <= pair.source.tokens.count(",") + 1 + ("and" in pair.source.lower)


def _counterpart(pair: Matched, quantity: Quantity, free: Sequence[Quantity]) -> Quantity | None:
    """The source's number in whose place this one stands: in the same gap, or of the same thing, or the last."""
    if not free:
        return None
    dates = [other for other in free if other.is_date == quantity.is_date or (other.kind == "count")]
    gaps = pair.gaps
    own = {gaps[1][at] for at in pair.output.words_between(quantity.span)}
    thing = _thing(pair, quantity, source=False)
    best, score = None, 0.0
    for other in dates:
        words = pair.source.words_between(other.span)
        apart = min((abs(a - gaps[0][at]) for at in words for a in own), default=9)
        near = 2.0 / (1 + apart) if apart < 4 else 0.0
        near += 1.5 if thing and thing == _thing(pair, other, source=True) else 0.0
        near += 0.6 if other.kind == quantity.kind else 0.0
        near += 0.5 if other.unit == quantity.unit != "" else 0.0
        near -= 0.8 if other.weak else 0.0
        if near > score:
            best, score = other, near
    return best if score >= 0.5 else None


def _in_place(pair: Matched, quantity: Quantity, other: Quantity) -> bool:
    """Whether one number stands exactly where the other stood, and is of the same kind."""
    places = pair.source.words_between(other.span), pair.output.words_between(quantity.span)
    same_gap = {pair.gaps[0][at] for at in places[0]} & {pair.gaps[1][at] for at in places[1]}
    after = places[0][-1] + 1, places[1][-1] + 1
    before = places[0][0] - 1, places[1][0] - 1
    kept = (after[0] < len(pair.source) and pair.forward[after[0]] == after[1]) or (
        before[0] >= 0 and pair.forward[before[0]] == before[1] >= 0
    )
    return bool(same_gap) and kept and quantity.kind == other.kind


def _thing(pair: Matched, quantity: Quantity, *, source: bool) -> str:
    """The stem of the next content word: what is counted."""
    reading = pair.source if source else pair.output
    following = bisect_left(reading.spans, (quantity.span[1], 0))
    named = following < len(reading) and reading.kinds[following] in (KIND["content"], KIND["name"])
    return reading.stems[following] if named else ""


def _exchanged(pair: Matched, sources: Sequence[Quantity], outputs: Sequence[Quantity]) -> Iterator[FactFinding]:
    """Two numbers that both texts have, but of different things: "3 cats and 2 dogs" and "2 cats and 3 dogs"."""
    things: dict[str, list[Quantity]] = {}
    for quantity in sources:
        if (thing := _thing(pair, quantity, source=True)) and quantity.kind == "count":
            things.setdefault(thing, []).append(quantity)
    counts = [quantity for quantity in sources if quantity.kind == "count"]
    by_amount = _Sorted([quantity.amount for quantity in counts])
    wrong = []
    for quantity in outputs:
        thing = _thing(pair, quantity, source=False)
        known = things.get(thing, []) if quantity.kind == "count" else []
        if len(known) == 1 and not _close(known[0].amount, quantity.amount) and not _rounded(known[0], quantity):
            near = (counts[at] for at in by_amount.near(quantity.amount))
            elsewhere = next((other for other in near if _close(other.amount, quantity.amount)), known[0])
            if elsewhere is not known[0]:
                wrong.append((known[0], quantity))
    if len(wrong) >= 2:
        for other, quantity in wrong:
            yield pair.at_spans("changed", "number", 0.85, (other.span,), (quantity.span,))


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def _close(a: float, b: float, tolerance: float = _EXACT) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-9)

"""Whether two values are the same: in any notation, or rounded, converted or less exact."""

import re

from plainly.factcheck.values import LAST_DAYS, Value, digits, squeeze

_LAST_MINUTE = 1439  # of a day: until 23:59 is until midnight
_EXACT = 1e-6  # the relative difference up to which two numbers are the same


KEYS = ("reference", "phone", "email", "url", "address")


def measure(value: Value) -> tuple[str, str]:
    if value.kind == "amount":
        return "amount", ""
    return value.kind, value.unit if value.kind in ("quantity", "period") else ""


def is_equal(value: Value, other: Value) -> bool:
    """Return whether a value of the source stands for the same."""
    kinds = {value.kind, other.kind}
    if value.kind in KEYS or other.kind in KEYS:
        return _is_equal_key(value, other)
    if len(kinds) == 1:
        return is_equal_kind(value, other)
    if "time" in kinds:
        clock, plain = (value, other) if value.kind == "time" else (other, value)
        if (
            plain.kind != "number"
            or plain.counts
            or plain.raw > 24
            or (clock is value and not re.fullmatch(r"\w+", clock.text))
        ):
            return False
        hours = {number // 60 for number in clock.numbers} | {clock.raw, clock.raw % 12, (clock.raw + 12) % 24}
        return plain.raw in hours or any(plain.raw == number % 60 for number in clock.numbers if number % 60)
    if "date" in kinds:
        day, plain = (value, other) if value.kind == "date" else (other, value)
        if plain.kind != "number" or (plain.counts and plain.raw < 1000):
            return False
        if plain is other and day.form == "day" and not day.date[1]:  # on the 1st: the first day of the month
            return plain.raw == day.date[2] and plain.form == "ordinal"
        return (plain is value and plain.raw in (day.date[0], day.date[2])) or (
            day.form in ("century", "decade", "quarter", "year") and plain.raw == day.raw
        )
    if "number" in kinds:
        plain, measured = (value, other) if value.kind == "number" else (other, value)
        if measured.kind == "percent" and measured.form == "fraction":
            return plain is value and any(
                is_close(plain.raw, float(part)) for part in re.findall(r"\d+", measured.text)
            )
        if plain is other and (plain.weak or plain.form not in ("", "ordinal")):
            return False
        if plain.counts and measured.kind != "percent" and not _is_measured(plain, measured):
            return False
        return any(is_close(plain.number, number) for number in (measured.raw, *measured.numbers))
    if kinds == {"amount", "quantity"}:
        amount, mass = (value, other) if value.kind == "amount" else (other, value)
        return "pound" in amount.text + mass.text and is_close(amount.raw, mass.raw) and mass.unit == "mass"
    return False


def may_be_measured(value: Value, other: Value) -> bool:
    """Return whether a number of the source may be meant, if nothing else is equal to it: six occasions, six days."""
    kinds = {value.kind, other.kind}
    return (
        "number" in kinds
        and bool(kinds & {"period", "quantity"})
        and not (value.form or other.form)
        and value.raw > 1
        and is_close(value.raw, other.raw)
    )


def _is_measured(plain: Value, measured: Value) -> bool:
    """Return whether a number counts what another one measures: three monthly payments, three months."""
    text = measured.text.lower()
    units = _TIMES.findall(plain.counts)
    return plain.counts[:4] in text or any(unit in text for unit in units)


_TIMES = re.compile("tag|woche|monat|jahr|stunde|minute|sekunde|day|week|month|year|hour|second")


def is_equal_kind(value: Value, other: Value) -> bool:
    match value.kind:
        case "time":
            return not {number % _LAST_MINUTE for number in value.numbers}.isdisjoint(
                number % _LAST_MINUTE for number in other.numbers
            )
        case "date":
            return _is_equal_date(value, other)
        case "amount":
            units = {value.unit, other.unit}
            is_same = (
                len(units) == 1
                or "" in units
                or units <= {"pound", "sterling"}
                or ("cent" in units and units <= {"cent", "euro", "dollar"})
            )
            return is_same and any(is_close(a, b) for a in value.numbers for b in other.numbers)
        case "percent":
            return is_close(value.number, other.number) or (
                "fraction" in (value.form, other.form)
                and abs(value.number - other.number) < min(0.5, 0.02 * other.number)
            )
        case "quantity":
            return (
                value.unit == other.unit
                and any(is_close(a, b, 0.001) for a in value.numbers for b in other.numbers)
                and _same_degrees(value, other)
            )
        case "period":
            if value.unit != other.unit:
                return False
            return any(is_close(a, b, 0.005) for a in value.numbers for b in other.numbers)
    return any(is_close(a, b) for a in value.numbers for b in other.numbers)


def _same_degrees(value: Value, other: Value) -> bool:
    if value.unit != "temperature":
        return True
    letters = {text.lower()[-1:] for text in (value.text, other.text)}
    return not {"c", "f"} <= letters


def _is_equal_key(value: Value, other: Value) -> bool:
    if value.kind in ("email", "url") or other.kind in ("email", "url"):
        return value.kind == other.kind and value.key == other.key
    if not value.key or not other.key:
        plain, code = (value, other) if not value.key else (other, value)
        raw = f"{plain.raw:g}" if plain.kind in ("number", "time", "date") else ""
        return raw != "" and (code.key == raw or digits(code.key) == raw or code.key == squeeze(plain.text))
    is_same_street = value.unit == other.unit or "" in (value.unit, other.unit) or value.form != "house"
    is_floor = "floor" in (value.form, other.form)
    return value.key == other.key and is_same_street and (not is_floor or value.form == other.form)


_EDGE = re.compile(r"(?:very\s)?(?:end|close|last|beginning|start|first|ende|anfang|letzten?|ersten?)\s")


def _is_equal_date(value: Value, other: Value) -> bool:
    if {value.form, other.form} & {"weekday", "decade", "century", "impossible"}:
        return value.form == other.form and value.number == other.number
    options = [
        tuple((int(number) // 10_000, int(number) // 100 % 100, int(number) % 100) for number in one.numbers)
        if one.form != "year"
        else (one.date,)
        for one in (value, other)
    ]
    for own in options[0]:
        for theirs in options[1]:
            if not (own[0] or own[1]) or not (theirs[0] or theirs[1]):  # on the 30th
                if own[2] and own[2] == theirs[2]:
                    return True
                continue
            is_end = own[1] == theirs[1] == 2 and {own[2], theirs[2]} == {28, 29}  # the end of February
            if is_end or all(a == b or not a or not b for a, b in zip(own, theirs, strict=True)):
                if is_end:
                    return True
                if own[2] and not theirs[2] and not (_EDGE.match(value.text.lower()) or _limits(value, other)):
                    continue  # a day where the source has a month
                if not (own[1] and theirs[1]) and own[0] != theirs[0]:
                    continue
                if own[1] and not theirs[1]:
                    continue  # a month where the source has a year
                return True
    return False


def _limits(day: Value, month: Value) -> bool:
    """Return whether a day is the first of a period that begins with a month, or the last of one that ends with it."""
    bounds = {day.bound, month.bound}
    last = LAST_DAYS[day.date[1] - 1] if day.date[1] else 0
    return (day.date[2] == 1 and "from" in bounds) or (day.date[2] == last and "until" in bounds)


def classify_harmless(value: Value, other: Value) -> str:
    """Return the kind of harmless variation between two values, or an empty string."""
    a, b = other, value
    forms = {a.form, b.form}
    if (
        a.kind == b.kind == "date"
        and forms & {"decade", "century"}
        and forms <= {"year", "decade", "century", "day", "month"}
    ):
        return _classify_less_exact(a, b)
    if a.kind == b.kind == "date" and a.form == b.form == "day" and (edge := _EDGE.match(b.text.lower())):
        is_late = bool(re.search("end|close|last|letzt", edge[0]))
        if a.date[1] == b.date[1] and (a.date[2] >= 24 if is_late else a.date[2] <= 8):
            return "precision"  # at the end of October: 26 October
    if a.kind == b.kind == "date" and a.form == "day" and b.form == "month":
        return (
            "precision" if a.date[1] == b.date[1] and (not b.date[0] or not a.date[0] or a.date[0] == b.date[0]) else ""
        )
    if a.kind == b.kind == "quantity" and a.unit == b.unit:
        if a.unit == "temperature":
            both = (a.raw * 1.8 + 32, (a.raw - 32) / 1.8)
            return (
                "conversion"
                if any(abs(b.raw - number) <= max(1.0, 0.02 * abs(number)) for number in both)
                and a.text[-1:].lower() != b.text[-1:].lower()
                else "rounding"
                if _is_rounded(a, b)
                else ""
            )
        if a.scale != b.scale and is_close(a.number, b.number, 0.06) and not _is_decimal(a.scale / b.scale):
            return "conversion"
    if (
        a.kind == "percent"
        and b.kind == "percent"
        and "fraction" in forms
        and abs(a.number - b.number) < 3
        and b.form == "fraction"
    ):
        return "rounding"
    if (
        a.kind in ("number", "quantity", "amount", "percent")
        and a.kind == b.kind
        and a.unit == b.unit
        and a.form != "ordinal"
    ):
        return "rounding" if _is_rounded(a, b) else ""
    if a.kind == "number" and b.kind == "quantity" and is_close(a.raw, b.raw):
        return "notation"
    return ""


def _is_decimal(ratio: float) -> bool:
    return f"{max(ratio, 1 / ratio):.0e}".startswith("1e") and is_close(
        max(ratio, 1 / ratio), float(f"{max(ratio, 1 / ratio):.0e}")
    )


def _is_rounded(a: Value, b: Value) -> bool:
    """Return whether b is a rounded: close to it, with fewer significant digits."""
    if not a.raw or (a.raw < 11 and a.raw.is_integer()):
        return False
    if a.kind in ("amount", "percent") and not b.about:
        return False
    if sorted(f"{a.raw:g}") == sorted(f"{b.raw:g}"):
        return False  # 3,001 and 3,100
    nearness = abs(a.number - b.number) / abs(a.number)
    fewer = _count_significant(b.raw) < _count_significant(a.raw)
    return fewer and nearness <= (0.12 if b.about else 0.05 if b.raw >= 100 else 0.08)


def _count_significant(number: float) -> int:
    text = f"{number:.6f}".rstrip("0").rstrip(".") if not number.is_integer() else str(int(number)).rstrip("0")
    return len(text.replace(".", "").lstrip("0")) or 1


def _classify_less_exact(a: Value, b: Value) -> str:
    """Compare years, decades and centuries: 1985 and the 1980s match, "5th century" and "the 1400s" do not."""
    if {a.form, b.form} == {"decade", "century"}:
        decade, century = (a, b) if a.form == "decade" else (b, a)
        if decade.number // 100 + 1 != century.number:
            return ""
        return "notation" if decade.number % 100 == 0 else "precision" if b is century else ""
    year = a.date[0] or a.number
    if a.form == "decade" and b.form == "year":
        return "precision" if b.number == a.number else ""
    if b.form == "decade" and a.form != "century":
        is_inside = year // 10 == b.number // 10 or (b.number % 100 == 0 and year // 100 == b.number // 100)
        return "precision" if is_inside else ""
    if b.form == "century" and a.form != "decade":
        return "precision" if b.number in (year // 100 + 1, (year - 1) // 100 + 1) else ""
    return ""


def is_alike(value: Value, other: Value) -> bool:
    """Return whether one may replace the other."""
    if value.kind in KEYS:
        if value.kind != other.kind:
            if value.unit in ("number", "nummer", "nr", "no") and other.form == "house":
                return True
            return (
                {value.kind, other.kind} <= {"phone", "reference", "address"}
                and other.form != "label"
                and len(digits(other.key)) >= 5
            )
        if value.kind == "address" and "floor" in (value.form, other.form):
            return value.form == other.form
        return value.kind != "reference" or value.form == other.form or len(digits(value.key)) >= 4
    if value.kind == "date" and other.kind == "date":
        groups = ({"day", "month", "impossible"}, {"weekday"}, {"year", "decade", "century"}, {"quarter", "month"})
        return any({value.form, other.form} <= group for group in groups)
    if value.kind == other.kind:
        if value.kind == "period":
            return (value.form == "interval") == (other.form == "interval") and (value.form == "bare") == (
                other.form == "bare"
            )
        if value.kind == "quantity":
            return value.unit == other.unit or is_close(value.raw, other.raw)
        return True
    pair = {value.kind, other.kind}
    if pair == {"date", "number"}:
        return "year" in (value.form, other.form) and min(value.raw, other.raw) >= 1000
    if is_close(value.raw, other.raw) and pair <= {"amount", "quantity", "percent", "period"}:
        return value.raw != 1 and not other.weak
    return (
        "number" in pair
        and pair & {"quantity", "amount", "percent", "period"} != set()
        and not (value.weak or other.weak or value.form or other.form)
    )


def is_close(a: float, b: float, tolerance: float = _EXACT) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-15)

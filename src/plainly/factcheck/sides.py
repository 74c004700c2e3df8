"""Words beside a value that say which way it counts: a limit, a rise or a fall, each or in total, owed or returned."""

import re
from functools import lru_cache

from plainly.factcheck.reading import Span

_BEFORE, _AFTER = 70, 60  # characters of the clause on either side of a value
_BREAK = re.compile(r"[.!?;:,\n()](?:\s|$)|\b(?:and|und|but|aber|while|whereas|sondern)\b")
_NOT = r"(?:no|not|nor|never|nicht|nie|kein\w*|weder)\s(?:\w+\s){0,2}?"
# By axis, the words of one side and of the other. Where both stand beside a value, they say nothing.
_SIDES = {
    "limit": (
        rf"{_NOT}(?:more|longer|larger|higher|older|greater|exceed\w*|over|above|mehr|länger|größer|höher|älter|über\w*)"
        r"|at\s(?:the\s)?most|up\sto|maxim\w*|ceiling|cap(?:ped)?|limited|within|under|below|less|fewer|shorter|younger|cooler|lower"
        r"|höchst\w*|längstens|bis(?:\szu)?|begrenzt|beschränkt|gedeckelt|unter|weniger|kürzer|jünger|niedriger|binnen|innerhalb",
        rf"{_NOT}(?:less|fewer|shorter|lower|younger|nearer|under|below|weniger|kürzer|kleiner|jünger|niedriger|unter\w*)"
        r"|at\s(?:the\s)?least|minim\w*|(?<!not\s)exceed\w*|in\sexcess|upwards|over|above|more|longer|older|higher|hotter"
        r"|mindest\w*|wenigstens|ab|über\w*|mehr|länger|älter|höher",
    ),
    "change": (
        r"more|extra|rise[sn]?|rose|rising|increas\w*|rais\w*|up|higher|longer|faster|surcharge|supplement|plus|gain\w*|grew|grown|growth"
        r"|mehr|steig\w*|stieg\w*|gestiegen|erhöh\w*|anheb\w*|angehoben|höher|länger|teurer|zuschlag|aufschlag|zuzüglich|zunahme|wuchs|gewachsen",
        r"less|fewer|fall\w*|fell|decreas\w*|cut\w*|down|reduc\w*|lower\w*|shorter|slower|saving\w*|discount\w*|rebate|minus|drop\w*|deduct\w*|cheaper"
        r"|weniger|sink\w*|sank|gesunken|senk\w*|gesenkt|verringer\w*|vermind\w*|minderung|niedriger|kürzer|billiger|günstiger|nachlass|rabatt|ermäßig\w*"
        r"|abzüglich|rückgang|abgezogen",
    ),
    "share": (
        r"each|every|per|apiece|individually|respectively|je|jede[nrsm]?|jeweils|pro|einzeln",
        r"total\w*|altogether|in\sall|together|combined|jointly|aggregate|insgesamt|zusammen|gesamt\w*|alles?|alle[nr]?",
    ),
    "debt": (
        r"pays?|owe[sd]?|due|payable|charge[sd]?|arrears|behind|shortfall|underpa\w*|little|zahl\w*|nachzahl\w*|schuld\w*|fällig|rückstand|wenig",
        r"refund\w*|credit\w*|back|reimburs\w*|repa\w*|overpa\w*|much|receive[sd]?|erstatt\w*|zurück\w*|guthaben|gutschrift|gutgeschrieben|viel"
        r"|bekomm\w*|erhalten|überzahl\w*",
    ),
    "order": (
        rf"before|prior|earlier|until|till|in\sadvance|ahead|preceding|previous\w*|{_NOT}(?:later|after|später|nach)|by|ending|latest"
        r"|vor|vorher|davor|zuvor|bis|früher|spätestens|bisher\w*|endet|ablauf",
        rf"after\w*|following|later|since|from|upon|thereafter|subsequent\w*|starting|beginning|as\sof|{_NOT}(?:earlier|before|früher|vor)|earliest"
        r"|nach|danach|ab|seit|später|frühestens|erst|beginnt|künftig",
    ),
    "tax": (
        r"gross|before\s(?:tax|deductions?)|including|inclusive|included|brutto\w*|inklusive|einschließlich|enthalten|inbegriffen|inkl",
        r"net|after\s(?:tax|deductions?)|excluding|exclusive|plus|netto\w*|zuzüglich|ohne|exklusive|zzgl",
    ),
    "rank": (
        r"first|initial\w*|begin\w*|start\w*|opens?|open|erst\w*|anfang\w*|geöffnet|offen|früh\w*|morgens?|vormittags?|morning",
        r"last|final\w*|ends?|clos\w*|expir\w*|letzt\w*|ende|schluss|geschlossen|zu|spät\w*|abends?|nachmittags?|nachts|evening|night|afternoon",
    ),
}
_PATTERNS = {
    name: tuple(re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for words in sides) for name, sides in _SIDES.items()
}
AXES = tuple(_SIDES)


@lru_cache(maxsize=16384)
def read_sides(text: str, span: Span) -> dict[str, int]:
    """Return the side on each axis that the clause around a value names: 1, −1, or 0 for none or both."""
    before = _BREAK.split(text[max(0, span[0] - _BEFORE) : span[0]])[-1]
    after = _BREAK.split(text[span[1] : span[1] + _AFTER])[0]
    clause = f"{before} | {after}"
    sides = {name: [bool(pattern.search(clause)) for pattern in patterns] for name, patterns in _PATTERNS.items()}
    return {name: first - second for name, (first, second) in sides.items()}

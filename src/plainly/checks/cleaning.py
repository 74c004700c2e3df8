"""Take away what stands around answers: a cleaned copy of the outputs, and a list of every change."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import check_target, write_whole
from plainly.io.faults.output_faults import mended

CHANGES = "changes.jsonl"


@dataclass(frozen=True)
class Mended:
    """One output that was mended: for which codes, and its text before and after."""

    system: str
    item: str
    codes: tuple[str, ...]
    before: str
    after: str


def mend(evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> tuple[dict[str, tuple[str, ...]], list[Mended]]:
    """The outputs as they should have come, and what was changed in them."""
    sources = evalset.sources if evalset.has_sources else ("",) * len(evalset)
    cleaned: dict[str, tuple[str, ...]] = {}
    changes: list[Mended] = []
    for system, texts in outputs.items():
        after = []
        for item, source, text in zip(evalset.ids, sources, texts, strict=True):
            clean, taken = mended(text, source=source)
            after.append(clean)
            if taken:
                changes.append(Mended(system, item, tuple(dict.fromkeys(fault.code for fault in taken)), text, clean))
        cleaned[system] = tuple(after)
    return cleaned, changes


def targets(directory: Path, systems: Sequence[str], *, force: bool = False) -> dict[str, Path]:
    """The file of each system, checked: nothing that is there is overwritten unless ``force``."""
    if directory.exists() and not directory.is_dir():
        raise BadInput(f"{directory} is a file; cleaned copies are written into a directory.")
    paths = {system: directory / f"{quote(system or 'outputs', safe=' ')}.jsonl" for system in systems}
    for path in (*paths.values(), directory / CHANGES):
        if path.exists() and not force:
            raise BadInput(f"{path} exists. Name another directory, or overwrite it: --force")
        if path.exists():
            check_target(path, force=force)
    return paths


def write(
    directory: Path, evalset: EvalSet, cleaned: Mapping[str, Sequence[str]], changes: Sequence[Mended], *, force: bool
) -> None:
    """One JSONL file a system (id, output), and the list of changes."""
    paths = targets(directory, list(cleaned), force=force)
    directory.mkdir(parents=True, exist_ok=True)
    for system, path in paths.items():
        rows = zip(evalset.ids, cleaned[system], strict=True)
        write_whole(path, _lines({"id": item, "output": text} for item, text in rows))
    write_whole(directory / CHANGES, _lines({**vars(change), "codes": list(change.codes)} for change in changes))


def _lines(records: Iterable[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)

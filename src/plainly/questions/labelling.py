"""Operations of a corpus that is never held: every part becomes a JSONL file of labelled pairs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import plainly
from plainly.engines import Engine, Tell, silent
from plainly.errors import BadInput
from plainly.files import write_whole
from plainly.inputs.batch import Bad
from plainly.inputs.corpus import Corpus
from plainly.inputs.parts import Part
from plainly.scoring.streamed import OnError

_ABOUT = "about.json"


@dataclass
class Labelled:
    """What was labelled, and which rows were not."""

    parts: int
    pairs: int = 0
    resumed: int = 0
    bad: list[Bad] = field(default_factory=list)

    def payload(self) -> dict[str, Any]:
        return {**asdict(self), "set_aside": sum(map(len, self.bad))}


@dataclass
class LabelPart:
    """The work: label the pairs of a part and write them. The labeller is loaded once for each worker."""

    labeller: str
    folder: str
    on_error: OnError

    def __call__(self, task: tuple[int, Part], tell: Tell) -> tuple[int, list[Bad]]:
        from plainly.typology import formats
        from plainly.typology.label import labeller

        number, part = task
        chosen = self.__dict__.setdefault("_loaded", None) or labeller(self.labeller)
        self.__dict__["_loaded"] = chosen
        pairs: list[Any] = []
        bad: list[Bad] = []
        for batch in part.read(frozenset({"source"})):
            if batch.bad and self.on_error == "stop":
                first = batch.bad[0]
                raise BadInput(f"{first.where}: {first.reason} To set such rows aside: --on-error set-aside")
            bad += batch.bad
            for system, outputs in batch.outputs.items():
                named = system if len(batch.outputs) > 1 else ""
                pairs += chosen.label(batch.evalset.sources, outputs, ids=batch.evalset.ids, part=named)
            tell(batch.read)
        write_whole(_path(self.folder, number), formats.write_jsonl(pairs))
        return len(pairs), bad

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_loaded"}


def label_stream(
    corpus: Corpus,
    folder: str | Path,
    *,
    engine: Engine,
    labeller: str = "light",
    on_error: OnError = "stop",
    restart: bool = False,
    tell: Tell = silent,
) -> Labelled:
    """Label every pair of a corpus into ``folder``; parts that an earlier, identical run finished are skipped."""
    if not corpus.has_sources:
        raise BadInput("Operations are what was done to the source, and no sources were given.")
    target = Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    asked = json.dumps([corpus.identity, labeller, on_error, plainly.__version__])
    done = _begun(target, hashlib.sha256(asked.encode()).hexdigest()[:16], restart=restart)
    found = Labelled(parts=len(corpus.parts))
    waiting: list[tuple[int, Part]] = []
    for number, part in enumerate(corpus.parts):
        if str(number) in done and _path(target, number).exists():
            found.resumed += 1
            found.pairs += done[str(number)]["pairs"]
            found.bad += [Bad(**bad) for bad in done[str(number)]["bad"]]
            tell(part.count)
        else:
            waiting.append((number, part))
    with open(target / _ABOUT, "a", encoding="utf-8") as about:
        for place, (pairs, bad) in engine.run(LabelPart(labeller, str(target), on_error), waiting, tell=tell):
            found.pairs += pairs
            found.bad += bad
            finished = {"part": waiting[place][0], "pairs": pairs, "bad": [asdict(each) for each in bad]}
            about.write(json.dumps(finished) + "\n")
            about.flush()
    return found


def _begun(folder: Path, key: str, *, restart: bool) -> dict[str, Any]:
    """What an earlier run into this folder finished, if it was the same run; another's files are refused."""
    path = folder / _ABOUT
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if lines and json.loads(lines[0])["key"] != key and not restart:
        raise BadInput(
            f"{folder} holds the labels of another corpus or labeller. Name another folder, or use --restart."
        )
    if restart or not lines:
        for old in folder.glob("part-*.jsonl"):
            if not restart:
                raise BadInput(f"{folder} holds {old.name} already. Name another folder, or use --restart.")
            old.unlink()
        path.write_text(json.dumps({"key": key}) + "\n", encoding="utf-8")
        return {}
    finished = (json.loads(line) for line in lines[1:] if line.endswith("}"))
    return {str(each["part"]): each for each in finished}


def _path(folder: str | Path, number: int) -> Path:
    return Path(folder) / f"part-{number:06d}.jsonl"

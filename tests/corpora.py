"""Corpora for the tests of scale, made from the demo set: varied, with ids, in any format and any division."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from plainly import data
from plainly.core.evalset import EvalSet


@dataclass(frozen=True)
class Synthetic:
    """A corpus of two systems, held whole to compare with."""

    evalset: EvalSet
    outputs: dict[str, tuple[str, ...]]

    def records(self) -> list[dict[str, object]]:
        return [
            {
                "id": self.evalset.ids[at],
                "source": self.evalset.sources[at],
                "references": list(self.evalset.references[at]),
                **{f"output_{system}": texts[at] for system, texts in self.outputs.items()},
            }
            for at in range(len(self.evalset))
        ]

    def write_parquet(self, folder: Path, *, files: int, rows_a_group: int) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        records = self.records()
        step = -(-len(records) // files)
        for number, start in enumerate(range(0, len(records), step)):
            table = pa.Table.from_pylist(records[start : start + step])
            pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=rows_a_group)
        return folder

    def write_jsonl(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self.records()), "utf-8")
        return path

    def write_texts(self, folder: Path) -> dict[str, object]:
        folder.mkdir(parents=True, exist_ok=True)
        most = int(self.evalset.reference_counts.max())
        names = {"source": self.evalset.sources} | {
            f"ref.{at}": tuple(row[at] if at < len(row) else "" for row in self.evalset.references)
            for at in range(most)
        }
        for name, lines in (names | self.outputs).items():
            (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return {
            "source": str(folder / "source.txt"),
            "references": [str(folder / f"ref.{at}.txt") for at in range(most)],
            "outputs": [str(folder / f"{system}.txt") for system in self.outputs],
        }


def make(items: int = 3000) -> Synthetic:
    """Sources, references and outputs of the demo, put together anew so that items differ."""
    evalset, outputs = data.demo()
    n = len(evalset)
    names = list(outputs)[:2]
    at = [(7 * number + number // n) % n for number in range(items)]
    return Synthetic(
        EvalSet.of(
            [evalset.sources[place] for place in at],
            references=[evalset.references[place][: 1 + number % 3] for number, place in enumerate(at)],
            ids=[f"item-{number}" for number in range(items)],
            name="made",
        ),
        {
            name: tuple(
                outputs[name][place] if (number + turn) % 3 else evalset.references[place][0]
                for number, place in enumerate(at)
            )
            for turn, name in enumerate(names)
        },
    )

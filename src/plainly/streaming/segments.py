"""Every item's scores as Parquet, written by whoever measured them, part by part, whole or not at all."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plainly.core.metric import Floats, Metric
from plainly.io.tables import arrow
from plainly.streaming.batches import Batch


class SegmentWriter:
    """One file of scores; under its own name only when it is complete, so that a part done twice is there once."""

    def __init__(self, path: Path) -> None:
        self._path, self._unfinished = path, path.with_name(f".{path.name}.{os.getpid()}")
        self._writer: Any = None
        self._arrow = arrow()

    def add(
        self, file: str, batch: Batch, system: str, metrics: Mapping[str, Metric], rows: Mapping[str, Floats]
    ) -> None:
        """A batch of one system: file, row, system, id, then every output as ``metric`` or ``metric.output``."""
        pyarrow = self._arrow
        n = len(batch.evalset)
        columns: dict[str, Any] = {
            "file": [file] * n,
            "row": list(batch.rows),
            "system": [system] * n,
            "id": list(batch.evalset.ids),
        }
        for spec, metric in metrics.items():
            scores = metric.score(rows[spec])
            for position, name in enumerate(metric.outputs):
                columns[spec if position == 0 else f"{spec}.{name}"] = scores[:, position]
        types = {"file": pyarrow.string(), "row": pyarrow.int64(), "system": pyarrow.string(), "id": pyarrow.string()}
        table = pyarrow.table(
            {name: pyarrow.array(values, type=types.get(name, pyarrow.float64()), from_pandas=name not in types)
             for name, values in columns.items()}
        )  # fmt: skip
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._unfinished, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            os.replace(self._unfinished, self._path)

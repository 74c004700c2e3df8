"""An engine for a Ray cluster, or Ray on this machine: actors take the parts of a corpus; those that die are restarted.

An actor keeps its work from part to part, so that a learned metric loads its model once. Actors read their parts
themselves: only file names and sums are sent over the network, not texts.
"""

import contextlib
import logging
import os
import pickle
import socket
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from plainly.core import limits
from plainly.core.errors import BadInput, require_package
from plainly.streaming.engines import Result, Task, Tell, Work, ignore_progress

_SETTINGS = b"\0\0\0\x04\0\0\0\0\0"  # the frame that both sides of an HTTP/2 connection send first


class RayEngine:
    """An engine whose workers are actors of a Ray Data pipeline; without an address, Ray is started here."""

    name = "ray"

    def __init__(self, *, address: str | None = None, workers: int | None = None) -> None:
        self.address, self.workers = address, workers

    def run(
        self, work: Work[Task, Result], tasks: Sequence[Task], *, tell: Tell = ignore_progress, gpus: float = 0.0
    ) -> Iterator[tuple[int, Result]]:
        os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
        # Otherwise Ray starts every worker with the environment manager of this process, and uploads the folder.
        os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
        # By default Ray sends usage statistics.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        with require_package("the engine ray", package="ray", extra="ray"):
            import ray
            import ray.data
        with _stdout_to_stderr():
            started = self._start(ray)
            try:
                yield from self._results(ray, work, tasks, tell, gpus)
            finally:
                if started:
                    ray.shutdown()

    def _start(self, ray: Any) -> bool:
        if ray.is_initialized():
            return False
        options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        if self.address is not None:
            check_address(self.address)
            options["address"] = self.address
        else:
            options |= {"num_cpus": self.workers, "include_dashboard": False, "address": "local"}
        try:
            ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = f"the cluster at {self.address}" if self.address else "Ray on this machine"
            raise BadInput(f"Cannot reach {where}: {str(error).splitlines()[0]}") from None
        return True

    def _results(self, ray: Any, work: Any, tasks: Sequence[Any], tell: Tell, gpus: float) -> Iterator[tuple[int, Any]]:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        resources = ray.cluster_resources()
        gpus = gpus if resources.get("GPU") else 0.0
        most = int(resources["GPU"] / gpus) if gpus else int(resources.get("CPU", 1))
        workers = max(1, min(most, len(tasks), self.workers or most))
        items = [{"number": number, "task": pickle.dumps(task)} for number, task in enumerate(tasks)]
        # One row a block: blocks are scheduled, and repeated when an actor dies.
        parts = ray.data.from_items(items, override_num_blocks=len(items))
        done = parts.map_batches(
            _Actor,
            # By value, since a user's metric may be defined in a script or notebook.
            fn_constructor_args=(ray.cloudpickle.dumps(work),),
            batch_size=1,
            batch_format="numpy",
            concurrency=workers,
            num_cpus=1,
            num_gpus=gpus or None,
        )
        for row in done.iter_rows():
            kind, value = pickle.loads(row["result"])
            if kind == "error":
                raise value
            tell(int(row["progress"]))
            yield int(row["number"]), value


def check_address(address: str) -> None:
    """Raise unless a gRPC server answers at an address HOST:PORT: Ray itself waits for one for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():  # auto, or something that Ray refuses at once
        return
    seconds = limits.limit("wait")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=seconds) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _SETTINGS)
            answer = connection.recv(9)
    except TimeoutError:
        more = f"To wait longer: {limits.SETTING}=wait={10 * seconds}"
        raise BadInput(f"The cluster at {address} did not answer within {seconds:,} seconds. {more}") from None
    except (OSError, OverflowError) as error:
        raise BadInput(f"Cannot reach the cluster at {address}: {getattr(error, 'strerror', '') or error}") from None
    if answer and answer[3:4] != _SETTINGS[3:4] and "RAY_USE_TLS" not in os.environ:
        raise BadInput(
            f"What answers at {address} is not a Ray cluster. Its port is 6379, or 10001 for ray://HOST:10001."
        )


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Redirect what Ray, its C++ parts and its children write to standard output to standard error."""
    try:
        sys.stdout.flush()
        stdout = os.dup(1)
        os.dup2(2, 1)
    except (OSError, ValueError, AttributeError):  # a notebook or a server without such streams
        yield
        return
    try:
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


class _Actor:
    """The work on a worker, called with one task after the other."""

    def __init__(self, work: bytes) -> None:
        self._work = pickle.loads(work)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        import numpy as np

        from plainly.core.errors import PlainlyError

        reported: list[int] = []
        try:
            answer: tuple[str, Any] = ("done", self._work(pickle.loads(batch["task"][0]), reported.append))
        except PlainlyError as error:  # raised again by the caller; retrying would not help
            answer = ("error", BadInput(*error.args))
        packed = np.empty(1, dtype=object)
        packed[0] = pickle.dumps(answer)
        return {"number": batch["number"], "progress": np.array([sum(reported)]), "result": packed}

"""A web server whose faults a test can choose, and a progress display that keeps what it was told."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from plainly.core.progress import Tell


class Server:
    """A web server whose faults a test can choose: send only ``cut`` bytes, ``spoil`` the first, know no ranges."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.cut: int | None = None
        self.spoil = False
        self.ranges = True
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                server.requests.append((unquote(self.path), wanted))
                content = server.files.get(unquote(self.path))
                if content is None:
                    self.send_error(404)
                    return
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.ranges else 0
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
                self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                body = content[start:] if server.cut is None else content[start : start + server.cut]
                self.wfile.write(bytes([body[0] ^ 1]) + body[1:] if server.spoil else body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


class Watched:
    """A progress that keeps what it was asked to show."""

    def __init__(self) -> None:
        self.bars: list[tuple[str, int | None, str]] = []
        self.told: list[int] = []

    def __call__(self, what: str, *, total: int | None, unit: str = "items") -> AbstractContextManager[Tell]:
        self.bars.append((what, total, unit))
        return nullcontext(self._tell)

    def _tell(self, amount: int) -> None:
        self.told.append(amount)


def publish(server: Server, name: str, files: Mapping[str, bytes], *, revision: str = "c0ffee") -> None:
    """Serve a model as the hub does: large files with a SHA-256, small ones with their id in git."""
    siblings = []
    for path, content in files.items():
        server.files[f"/{name}/resolve/{revision}/{path}"] = content
        oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        entry: dict[str, object] = {"rfilename": path, "size": len(content), "blobId": oid}
        if len(content) > 1000:
            entry |= {"lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}}
            entry["blobId"] = "0" * 40  # of the pointer, not of the content
        siblings.append(entry)
    answer = {"id": name, "sha": revision, "cardData": {"license": "mit"}, "siblings": siblings}
    server.files[f"/api/models/{name}?blobs=true"] = json.dumps(answer).encode()

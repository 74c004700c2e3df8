"""Published models by hub name: found on this machine, or downloaded once, checked and kept.

A name is looked up in the folder of models (``PLAINLY_MODELS``, by default ``models`` in plainly's cache), where each
model is a folder OWNER/NAME, then in the cache of Hugging Face's own tools, and then on the hub (``HF_ENDPOINT`` names
a mirror, ``HF_HUB_OFFLINE=1`` switches it off). The hub states the size and digest of every file; a file with another
content is not used. Downloads resume where they were interrupted.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

from plainly.core import downloads, limits
from plainly.core.errors import DataUnavailable
from plainly.core.files import cache_directory, write_whole
from plainly.core.formatting import size as format_size
from plainly.core.progress import Progress, Tell, no_progress, report_steps, show_detail

FOLDER = "PLAINLY_MODELS"
ENDPOINT = "HF_ENDPOINT"
MANIFEST = "plainly-model.json"
# What is needed of a model: everything, all but the weights, or a checkpoint in the layout of COMET.
Part = Literal["model", "encoder", "checkpoint"]
_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model")


@dataclass(frozen=True)
class HubModel:
    """A model as the hub describes it: its version, its licence, and the size and digest of its files."""

    name: str
    revision: str
    licence: str
    files: Mapping[str, tuple[int, str]]

    @property
    def size(self) -> int:
        return sum(size for size, _ in self.files.values())


def folder() -> Path:
    """Return the folder in which models are kept and looked up."""
    setting = os.environ.get(FOLDER)
    return Path(setting).expanduser() if setting else cache_directory() / "models"


def endpoint() -> str:
    """Return the address of the hub or its mirror."""
    return (os.environ.get(ENDPOINT) or "https://huggingface.co").rstrip("/")


def directory(name: str, *, part: Part = "model", parameter: str = "model") -> Path:
    """Return the directory of a model, which the metric's ``parameter`` names: a directory, or a hub name.

    A model that is not on this machine is downloaded.
    """
    if name and Path(name).is_dir():
        return Path(name)
    _check_name(name, parameter)
    return find(name, part) or download(name, part, parameter=parameter, progress=_within_other_work)


def _check_name(name: str, parameter: str) -> None:
    if not _NAME.fullmatch(name):
        raise DataUnavailable(f"{name!r} is neither a directory nor the name of a model on the hub ({parameter}=…).")


def find(name: str, part: Part = "model") -> Path | None:
    """Return the directory of a model that is complete and on this machine; its digests are not computed again."""
    own = folder() / name
    if _is_complete(own, part):
        return own
    cache = _huggingface_cache() / f"models--{name.replace('/', '--')}"
    try:
        snapshot = cache / "snapshots" / (cache / "refs" / "main").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return snapshot if _has_part(snapshot, part) else None


def download(name: str, part: Part = "model", *, parameter: str = "model", progress: Progress = no_progress) -> Path:
    """Download a model into the folder of models, and check every file, also those that are there already."""
    _check_name(name, parameter)
    model = ask(name, part, parameter=parameter)
    target = folder() / name
    token = os.environ.get("HF_TOKEN", "")
    try:
        target.mkdir(parents=True, exist_ok=True)
        _write_manifest(target, model)  # first, so that an interrupted download does not look complete
        with progress(f"downloading {name}", total=model.size, unit="bytes") as tell:
            for path, (size, digest) in model.files.items():
                url = f"{endpoint()}/{quote(name)}/resolve/{model.revision}/{quote(path)}"
                remote = downloads.Remote((url,), size, digest, token)
                if (target / path).is_file() and not remote.find_problem(target / path):
                    tell(size)
                elif reasons := downloads.download(remote, target / path, tell):
                    advice = f"Run again to resume: plainly models get {name}"
                    raise DataUnavailable(f"Could not download {reasons[0]}. {advice}")
    except OSError as error:
        raise DataUnavailable(
            f"Cannot write the model {name!r} to {target}: {error.strerror or error}. Set {FOLDER} to a folder with "
            f"{format_size(model.size)} of free space that you may write to."
        ) from error
    return target


def ask(name: str, part: Part = "model", *, parameter: str = "model") -> HubModel:
    """Return what the hub states about a model and those of its files that are needed; it is asked once."""
    import http.client
    import urllib.error
    import urllib.request

    absent = f"The model {name!r} is not on this machine, and"
    offline = (
        f"copy it from a machine where plainly models get {name} works (PLAINLY_MODELS), or pass {parameter}=DIRECTORY"
    )
    if os.environ.get("HF_HUB_OFFLINE", "").casefold() in ("1", "true", "yes", "on"):
        raise DataUnavailable(f"{absent} HF_HUB_OFFLINE is set; {offline}")
    url = f"{endpoint()}/api/models/{quote(name)}?blobs=true"
    try:
        request = downloads.request(url, token=os.environ.get("HF_TOKEN", ""))
        with urllib.request.urlopen(request, timeout=limits.limit("wait")) as answer:
            return _parse(name, part, json.load(answer))
    except urllib.error.HTTPError as error:
        is_absent = error.code in (401, 403, 404)
        why = ": it has no such model, or only for those whom HF_TOKEN lets in" if is_absent else f" {error.reason}"
        raise DataUnavailable(f"{absent} {endpoint()} answers {error.code}{why}. See: plainly models") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        why = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        raise DataUnavailable(f"{absent} {endpoint()} cannot be reached ({why}); {offline}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataUnavailable(
            f"{absent} what {endpoint()} answers is not a hub's description of a model. Correct {ENDPOINT}."
        ) from None


def encoder_of(checkpoint: Path) -> str:
    """Return the encoder that the settings of a checkpoint name."""
    settings = find_settings(checkpoint)
    match = re.search(r"^pretrained_model:\s*['\"]?([^'\"\s#]+)", settings.read_text(encoding="utf-8"), re.M)
    if match is None:
        raise DataUnavailable(f"{settings} names no pretrained_model.")
    return match[1]


def find_settings(checkpoint: Path) -> Path:
    """Return the file of settings in the directory of a checkpoint; it may not exist."""
    return next(iter(sorted(checkpoint.rglob("hparams.yaml"))), checkpoint / "hparams.yaml")


def read_manifest(path: Path) -> dict[str, Any]:
    """Return what was noted about a downloaded model; nothing if it was put there by hand."""
    try:
        manifest: dict[str, Any] = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest


def _write_manifest(target: Path, model: HubModel) -> None:
    earlier = read_manifest(target)
    files = earlier.get("files", {}) if earlier.get("revision") == model.revision else {}
    files |= {path: {"size": size, "digest": digest} for path, (size, digest) in model.files.items()}
    manifest = {"name": model.name, "hub": endpoint(), "revision": model.revision, "licence": model.licence}
    write_whole(target / MANIFEST, json.dumps(manifest | {"files": files}, indent=2) + "\n")


def _parse(name: str, part: Part, description: dict[str, Any]) -> HubModel:
    files = {}
    for entry in description["siblings"]:
        lfs = entry.get("lfs") or {}
        digest = lfs.get("sha256") or entry["blobId"]
        files[str(entry["rfilename"])] = (int(lfs.get("size") or entry["size"]), str(digest))
    names = _select(files, part)
    if not names:
        raise DataUnavailable(f"{endpoint()}/{name} has no files of a {part} that plainly can read.")
    licence = (description.get("cardData") or {}).get("license") or ""
    return HubModel(name, str(description["sha"]), str(licence), {path: files[path] for path in names})


def _select(paths: Iterable[str], part: Part) -> list[str]:
    """Return the files to download: no weights for other libraries, and one kind of weights for ours."""
    safe = [path for path in paths if not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts]
    if part == "checkpoint":
        return [path for path in safe if path.endswith((".ckpt", "hparams.yaml"))]
    root = [path for path in safe if "/" not in path]
    settings = [path for path in root if path.endswith((".json", ".txt", ".model")) and ".index." not in path]
    if "config.json" not in settings:
        return []
    return settings if part == "encoder" else [*settings, *_weights(root)]


def _weights(names: Iterable[str]) -> list[str]:
    """Return the files with weights, and the list of them where they are divided."""
    tensors = [name for name in names if re.fullmatch(r"model\b.*\.safetensors(\.index\.json)?", name)]
    return tensors or [name for name in names if re.fullmatch(r"pytorch_model\b.*\.bin(\.index\.json)?", name)]


def _is_complete(path: Path, part: Part) -> bool:
    """Whether all files that were to be downloaded are there, with the right size."""
    files = read_manifest(path).get("files", {})
    if any(not (path / name).is_file() or (path / name).stat().st_size != files[name]["size"] for name in files):
        return False
    return _has_part(path, part)


def _has_part(path: Path, part: Part) -> bool:
    if part == "checkpoint":
        return find_settings(path).is_file() and any(path.rglob("*.ckpt"))
    names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    is_encoder = "config.json" in names and any(name in names for name in _TOKENIZERS)
    return is_encoder and (part == "encoder" or bool(_weights(names)))


def _huggingface_cache() -> Path:
    """Return where Hugging Face's tools keep models, by the variables that they read."""
    if cache := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(cache).expanduser()
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(home).expanduser() / "hub"


@contextmanager
def _within_other_work(what: str, *, total: int | None, unit: str = "items") -> Iterator[Tell]:
    """Show a download as a part of the work that needs it, such as a metric's."""
    done = 0
    with report_steps(total or 0) as steps:

        def tell(amount: int) -> None:
            nonlocal done
            done += amount
            show_detail(f"{what}: {format_size(done)} of {format_size(total or 0)}")
            steps(amount)

        yield tell
    show_detail("")

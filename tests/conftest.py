"""Fixtures and helpers that the tests share."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Tests use no network; without this, transformers tries it for minutes before it reports missing weights.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Every test computes the scores of models itself and writes to no cache.
os.environ["PLAINLY_SCORE_CACHE"] = "off"
# The marks "mirror" and "packages", and the fixture "mirror".
pytest_plugins = ["isolation"]


def english_pipeline() -> str | None:
    """Return the name of an installed spaCy pipeline for English; None where spaCy or a pipeline is missing."""
    try:
        from spacy.util import get_installed_models
    except ImportError:
        return None
    return next((name for name in sorted(get_installed_models()) if name.startswith("en_core_web")), None)


@pytest.fixture(scope="session")
def english() -> str:
    """The name of an installed spaCy pipeline for English; without one the test is skipped."""
    name = english_pipeline()
    if name is None:
        pytest.skip("needs spaCy and a pipeline: pip install 'plainly[spacy]'; python -m spacy download en_core_web_sm")
    return name


def opendocument(rows: str) -> bytes:
    """Return a spreadsheet (.ods) with one sheet of these rows, which are XML."""
    names = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    sheet = f'<office:spreadsheet><table:table table:name="Sheet1">{rows}</table:table></office:spreadsheet>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content{names}><office:body>{sheet}</office:body></office:document-content>",
        )
    return file.getvalue()


def save_tokenizer(vocabulary: list[str], directory: Path) -> None:
    """Write a word-piece tokenizer with this vocabulary, in the files that transformers loads for a BERT model."""
    import transformers
    from tokenizers import BertWordPieceTokenizer

    pieces = BertWordPieceTokenizer(vocab={piece: at for at, piece in enumerate(vocabulary)}, lowercase=True)
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces._tokenizer, mask_token="[MASK]", **marks
    ).save_pretrained(directory)


def save_encoder(directory: Path) -> None:
    """Write a tiny encoder that spells words letter by letter; needs PyTorch."""
    import transformers

    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789"]
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ","]
    vocabulary = [*marks, *letters, *(f"##{letter}" for letter in letters)]
    save_tokenizer(vocabulary, directory)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=128,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(directory)


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with an encoder so small that training it takes seconds."""
    pytest.importorskip("torch", reason="training needs torch, which the development install lacks")
    pytest.importorskip("transformers")
    directory = tmp_path_factory.mktemp("encoder")
    save_encoder(directory)
    return str(directory)

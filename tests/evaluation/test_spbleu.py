"""spBLEU is computed where its model is on disk, and nothing is ever fetched."""

import io
from pathlib import Path

import pytest
import sacrebleu.tokenizers.tokenizer_spm
import sacrebleu.utils
import sentencepiece

from translator.errors import InputError
from translator.evaluation.metrics import compute_scores
from translator.evaluation.spbleu import spbleu_lacks

MODEL = "flores200sacrebleuspm"


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let sacreBLEU keep its models in a folder of the test."""
    monkeypatch.setattr(sacrebleu.utils, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(sacrebleu.tokenizers.tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def test_without_the_model_it_says_where_to_put_it(models: Path) -> None:
    lack = spbleu_lacks()
    assert lack is not None
    assert str(models / MODEL) in lack
    assert "https://" in lack


def test_with_the_model_it_is_computed(models: Path) -> None:
    trained = io.BytesIO()
    words = iter(["سلام دنیا", "در باز است", "او رفت"] * 20)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=words, model_writer=trained, vocab_size=19, minloglevel=2
    )
    (models / MODEL).write_bytes(trained.getvalue())
    assert spbleu_lacks() is None
    texts = ["در باز است او رفت"]
    found = compute_scores(texts, texts, metrics=("spbleu",))[-1]
    assert found.score == pytest.approx(100)
    assert "tok:flores200" in found.signature


def test_a_damaged_model_is_said(models: Path) -> None:
    (models / MODEL).write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match="is no SentencePiece model, or it is damaged"):
        compute_scores(["آ"], ["آ"], metrics=("spbleu",))

"""Both models as a folder holds them: what was exchanged or damaged is recognised."""

import shutil
from pathlib import Path

import pytest
from subword.sentences import make_corpus, unigram

from translator.errors import SubwordError
from translator.subword import SubwordPair, prepare_subword


def test_a_model_that_was_exchanged_is_recognised(tmp_path: Path) -> None:
    _, folder = prepare_subword(unigram(), make_corpus(tmp_path), tmp_path / "prepared")
    shutil.copy(folder / "source.model", folder / "target.model")
    with pytest.raises(SubwordError, match=r"target\.model is not the model that was trained .* prepare again"):
        SubwordPair.load(folder)
    (folder / "subword.json").write_text("{}", "utf-8")
    with pytest.raises(
        SubwordError, match=rf"subword\.json is damaged; take it from a backup, or delete the folder {folder} and"
    ):
        SubwordPair.load(folder)

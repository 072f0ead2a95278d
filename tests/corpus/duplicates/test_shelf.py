"""Texts set aside on disk."""

from pathlib import Path

import numpy as np
import pytest

from translator.corpus.duplicates.minhash import signatures
from translator.corpus.duplicates.near import near_duplicates
from translator.corpus.duplicates.shelf import Shelf, SignedTexts
from translator.errors import StorageError

LONG = "he said that he would come tomorrow|او گفت که فردا خواهد آمد و ما را خواهد دید"
TEXTS = [
    LONG,
    "short|کوتاه",
    "",
    LONG + "!",
    "another one that is long enough to be compared|یکی دیگر که به اندازهٔ کافی بلند است",
]


def test_texts_come_back_and_are_compared(tmp_path: Path) -> None:
    with Shelf(tmp_path) as shelf:
        shelf.put(SignedTexts.of(TEXTS[:2]))
        shelf.put(SignedTexts.of([]))
        shelf.put(SignedTexts.of(TEXTS[2:]))
        for number in (4, 0, 2, 3, 1):
            assert shelf.text(number) == TEXTS[number]
        numbers = np.arange(len(TEXTS))
        found = shelf.near_duplicates(numbers, 0.9)
        assert found.tolist() == [-1, -1, -1, 0, -1]
        assert np.array_equal(found, near_duplicates(signatures(TEXTS), numbers, 0.9, TEXTS.__getitem__))
        assert shelf.near_duplicates(numbers[::-1], 0.9).tolist() == [3, -1, -1, -1, -1]
        shelf.put(SignedTexts.of([LONG]))
        assert shelf.near_duplicates(np.arange(6), 0.9)[5] == 0


def test_an_empty_shelf(tmp_path: Path) -> None:
    with Shelf(tmp_path) as shelf:
        assert shelf.near_duplicates(np.arange(0), 0.9).tolist() == []


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="missing"):
        Shelf(tmp_path / "missing")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
@pytest.mark.parametrize("file", ["texts", "bands"])
@pytest.mark.parametrize("texts", [1, 1000])
@pytest.mark.parametrize("then", ["leave", "compare"])
def test_a_full_disk(tmp_path: Path, file: str, texts: int, then: str) -> None:
    (tmp_path / file).symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"cannot write .*: the disk is full"), Shelf(tmp_path) as shelf:
        shelf.put(SignedTexts.of([LONG] * texts))
        if then == "compare":
            shelf.near_duplicates(np.arange(texts), 0.9)

"""The file of translations that another system has made."""

from collections import Counter
from pathlib import Path

import pytest

from translator.corpus.given_translations import read_translations
from translator.errors import CorpusError


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no tab\n" * 5000, r"line 1: .* 1,001 of 1,001 rows are bad"),
        ("a\tb\n" * 100 + "no tab\n" * 2, r"line 101: .* 2 of 102 rows are bad"),
    ],
    ids=["a large file, before its end", "a small file, at its end"],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "x.tsv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        list(read_translations(file, Counter()))

"""Parquet files: nested columns, lists, missing values, damage, and folders of shards."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import PACKERS, PAIRS, complaint, one_file, zip_bytes
from translator.config import SourceConfig
from translator.corpus.reading.pairs import read_pairs
from translator.errors import InputError

pyarrow = pytest.importorskip("pyarrow")

COLUMNS = {"en": [pair.source for pair in PAIRS], "fa": [pair.target for pair in PAIRS]}
NESTED: dict[str, list[Any]] = {
    "id": [1, 2, 3],
    "translation": [{"en": pair.source, "fa": pair.target} for pair in PAIRS],
}


def written(path: Path, columns: Any, **settings: Any) -> SourceConfig:
    """Write a table with two rows in a group; the source has its path."""
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path, row_group_size=2, write_page_checksum=True)
    return SourceConfig(name="text", path=str(path), **settings)


LISTS = {"source": COLUMNS["en"], "targets": [[persian] for persian in COLUMNS["fa"]]}


@pytest.mark.parametrize("columns", [COLUMNS, NESTED, LISTS])
def test_usual_columns_are_read(tmp_path: Path, columns: dict[str, Any]) -> None:
    assert list(read_pairs(written(tmp_path / "x.parquet", columns))) == PAIRS


def test_scores_and_named_columns(tmp_path: Path) -> None:
    columns = {"a": COLUMNS["fa"], "b": COLUMNS["en"], "c": [1.5, 0.5, None]}
    keys = {"source_column": "b", "target_column": "a", "min_score": {"column": "c", "at_least": 1.0}}
    defects = [pair.defect for pair in read_pairs(written(tmp_path / "x.parquet", columns, **keys))]
    assert defects == [None, "low_score", "bad_row"]


def test_the_content_decides_not_the_name(tmp_path: Path) -> None:
    assert list(read_pairs(written(tmp_path / "x.tsv", COLUMNS))) == PAIRS
    assert "is no Parquet file (it does not begin with PAR1)" in complaint(one_file(tmp_path / "y.parquet", b"x\ty\n"))


def test_a_changed_byte_is_noticed_by_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    written(path, COLUMNS)
    content = path.read_bytes()
    assert b"Three." in content
    altered = content.replace(b"Three.", b"Threw.")
    assert "x.parquet is damaged or truncated (" in complaint(one_file(path, altered))


def test_a_packed_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    written(path, COLUMNS)
    content = path.read_bytes()
    for source in (
        one_file(tmp_path / "y.parquet.gz", PACKERS[".gz"](content)),
        one_file(tmp_path / "y.zip", zip_bytes({"y.parquet": content})),
    ):
        assert "is a packed Parquet file, which cannot be read in place; unpack it" in complaint(source)


def test_shards_in_a_folder_are_one_source(tmp_path: Path) -> None:
    for number in range(2):
        written(tmp_path / f"train-0000{number}-of-00002.parquet", NESTED)
    assert list(read_pairs(SourceConfig(name="x", path=str(tmp_path)))) == PAIRS * 2


def test_without_pyarrow_a_parquet_file_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"is a Parquet file, and pyarrow .* -m pip install 'pyarrow"):
        list(read_pairs(one_file(tmp_path / "x.tsv", b"PAR1 and so on")))

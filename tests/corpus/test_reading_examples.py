"""Examples of corpora, as data: the pairs that are read, the notes, and the messages that refuse."""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.corpora import PACKERS, TABLE, complaint, one_file, zip_bytes
from translator.config import SourceConfig
from translator.corpus.reading import packing
from translator.corpus.reading.column_texts import column_texts
from translator.corpus.reading.pairs import read_pairs
from translator.errors import InputError

EXAMPLES = yaml.safe_load(Path(__file__).with_name("reading_examples.yaml").read_text(encoding="utf-8"))


def bytes_of(name: str, content: bytes | str | list[Any] | dict[str, Any], encoding: str) -> bytes:
    """Return the bytes of a file: as they are, or of a text, of Parquet with some rows or a zip; perhaps compressed."""
    if isinstance(content, bytes):
        data = content
    elif isinstance(content, dict):
        data = zip_bytes({member: bytes_of(member, inner, encoding) for member, inner in content.items()})
    elif isinstance(content, list):
        data = parquet_bytes(content)
    else:
        data = content.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    return PACKERS.get(Path(name).suffix, bytes)(data)


def parquet_bytes(rows: list[dict[str, Any]]) -> bytes:
    """Return rows as Parquet, two in a group."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    stream = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist(rows), stream, row_group_size=2, write_page_checksum=True)
    return bytes(stream.getvalue())


def written(example: dict[str, Any], folder: Path) -> SourceConfig:
    """Write the files of an example into the current folder; return their source."""
    for name, content in example["files"].items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(bytes_of(name, content, example.get("encoding", "utf-8")))
    files = list(example["files"])
    place = {"path": files[0]} if files else {}
    if "sides" in example:
        place = {"source_path": files[0], "target_path": files[1]}
    elif "folder" in example:
        place = {"path": "."}
    settings = example.get("source", {})
    return SourceConfig(name="text", **({} if "source_path" in settings else place) | settings)


@pytest.mark.parametrize("block", [packing.BLOCK, 7])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["about"])
def test_a_corpus_is_read_or_refused(
    example: dict[str, Any], block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(packing, "BLOCK", block)
    source = written(example, tmp_path)
    if "refused" in example:
        assert example["refused"] in complaint(source)
        return
    notes: list[str] = []
    pairs = list(read_pairs(source, notes.append))
    assert [[pair.source, pair.target] for pair in pairs if pair.defect is None] == example["pairs"]
    assert not any("\n" in pair.source + pair.target for pair in pairs)  # texts are stored as lines
    defects = defaultdict(list)
    for pair in pairs:
        if pair.defect is not None:
            defects[pair.defect].append(pair.line)
    assert defects == example.get("defects", {})
    if "notes" in example:
        assert [note.split(": ", 1)[1] for note in notes] == example["notes"]


def test_a_column_by_number_gives_a_text_for_each_row(tmp_path: Path) -> None:
    table = tmp_path / "x.tsv"
    table.write_text("OK\tx\n" + "باغ\tx\n" * 20, encoding="utf-8")  # the first row looks like a line of names
    assert list(column_texts(table, "1")) == ["OK", *["باغ"] * 20]


def test_a_quotation_mark_without_end_costs_a_hundred_lines(tmp_path: Path) -> None:
    rows = ["House.,خانه.\n"] * 11_000
    rows[1000] = '"House.,خانه.\n'
    (tmp_path / "x.csv").write_text("".join(rows), encoding="utf-8")
    pairs = read_pairs(SourceConfig(name="text", path=str(tmp_path / "x.csv")))
    assert [pair.line for pair in pairs if pair.defect == "bad_row"] == [*range(1001, 1101)]


def test_a_large_file_of_another_kind_is_refused_before_its_end(tmp_path: Path) -> None:
    message = complaint(one_file(tmp_path / "x.tsv", TABLE + b"no tab\n" * 2000))
    assert "1,001 of 1,004 rows are bad (lines 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, …)" in message


def test_a_changed_byte_of_parquet_is_noticed_by_the_checksum(tmp_path: Path) -> None:
    content = parquet_bytes([{"en": "One.", "fa": "یک."}, {"en": "Three.", "fa": "سه."}])
    assert b"Three." in content
    (tmp_path / "x.parquet").write_bytes(content.replace(b"Three.", b"Threw."))
    source = SourceConfig(name="text", path=str(tmp_path / "x.parquet"))
    assert "x.parquet is damaged or truncated (" in complaint(source)


def test_without_pyarrow_a_parquet_file_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and so on")
    with pytest.raises(InputError, match=r"is a Parquet file, and pyarrow .* -m pip install 'pyarrow"):
        list(read_pairs(SourceConfig(name="text", path=str(tmp_path / "x.parquet"))))

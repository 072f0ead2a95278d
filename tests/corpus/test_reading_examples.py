"""Examples of corpora, as data: the pairs that are read, the notes, and the messages that refuse."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.corpora import complaint, zip_bytes
from translator.config import SourceConfig
from translator.corpus.reading.column_texts import column_texts
from translator.corpus.reading.pairs import read_pairs

EXAMPLES = yaml.safe_load(Path(__file__).with_name("reading_examples.yaml").read_text(encoding="utf-8"))


def written(example: dict[str, Any], folder: Path) -> SourceConfig:
    """Write the files of an example into the current folder; return their source."""
    for name, content in example["files"].items():
        (folder / name).parent.mkdir(exist_ok=True)
        if isinstance(content, dict):
            (folder / name).write_bytes(zip_bytes({member: text.encode() for member, text in content.items()}))
        else:
            (folder / name).write_bytes(content.encode())
    files = list(example["files"])
    place = {"path": files[0]} if files else {}
    if "sides" in example:
        place = {"source_path": files[0], "target_path": files[1]}
    elif "folder" in example:
        place = {"path": "."}
    settings = example.get("source", {})
    return SourceConfig(name="text", **({} if "source_path" in settings else place) | settings)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["about"])
def test_a_corpus_is_read_or_refused(example: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = written(example, tmp_path)
    if "refused" in example:
        assert example["refused"] in complaint(source)
        return
    notes: list[str] = []
    pairs = list(read_pairs(source, notes.append))
    assert [[pair.source, pair.target] for pair in pairs if pair.defect is None] == example["pairs"]
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

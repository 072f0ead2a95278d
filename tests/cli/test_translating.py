"""The verb translate: a line for each row of a table."""

import gzip
from pathlib import Path

import pytest

from translator.cli import main

TABLES = {
    "unnamed.tsv": ("1\tabc\n\n2\thgf dd\n", "2"),
    "rows.csv": ('id,text\n1,"abc"\n\n2,"hgf\ndd"\n', "text"),
    "rows.jsonl": ('{"text": "abc"}\n\n{"id": 2, "text": "hgf dd"}\n', "text"),
    "nested.jsonl.gz": ('{"a": {"en": "abc"}}\n{"a": {"en": ""}}\n{"a": {"en": "hgf\\ndd"}}\n', "a.en"),
}


@pytest.mark.parametrize("name", TABLES)
def test_translate_gives_a_line_for_each_row_of_a_column(
    name: str, random_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def translate(*arguments: str) -> str:
        assert main(["translate", "--run", str(random_run), *arguments]) == 0
        return capsys.readouterr().out

    content, column = TABLES[name]
    table = tmp_path / name
    data = content.encode()
    table.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    expected = translate("abc", "", "hgf dd")
    assert translate("--input", str(table), "--column", column) == expected
    output = tmp_path / "out.txt"
    translate("--input", str(table), "--column", column, "--output", str(output))
    assert output.read_text(encoding="utf-8") == expected

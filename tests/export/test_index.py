"""Damage to an exported folder is recognised, wherever it is."""

import json
from pathlib import Path

import pytest
from export.runs import small_run

from translator.errors import RunError
from translator.export import export_run
from translator.export.index import INDEX_FILE, read_index


@pytest.fixture(scope="module")
def folder(subword_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("index")
    return export_run(small_run(place, subword_folder).path, "ctranslate2", place / "out")


def test_every_file_but_the_card_is_watched(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("README.md", INDEX_FILE)]
    assert len(files) == 8
    for file in files:
        content = file.read_bytes()
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        with pytest.raises(RunError, match=rf"damaged export: .*{file.name} is not what was written .* export the run"):
            read_index(folder)
        file.unlink()
        with pytest.raises(RunError, match=rf"damaged export: .*{file.name} is missing"):
            read_index(folder)
        file.write_bytes(content)
    (folder / "README.md").write_text("my own words", encoding="utf-8")
    read_index(folder)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"own_sha256": "x"}', b"null"])
def test_a_damaged_index(folder: Path, content: bytes) -> None:
    whole = (folder / INDEX_FILE).read_bytes()
    (folder / INDEX_FILE).write_bytes(content)
    with pytest.raises(RunError, match=r"damaged export: cannot read .*export\.json"):
        read_index(folder)
    changed = json.loads(whole) | {"quantization": "int8"}
    (folder / INDEX_FILE).write_text(json.dumps(changed), encoding="utf-8")
    with pytest.raises(RunError, match="checksum differs"):
        read_index(folder)
    (folder / INDEX_FILE).write_bytes(whole)

"""Compressed files, whole or truncated, and the corpora that a command line names."""

import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.corpora import ENGLISH, PACKERS, PAIRS, PERSIAN, TABLE, complaint, one_file
from translator.config import SourceConfig
from translator.corpus.reading.languages import split_language
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.sources import corpora_in_arguments
from translator.errors import InputError, StorageError

PACKED = [suffix for suffix in PACKERS if suffix]


# --- packing ---


@pytest.mark.parametrize("suffix", PACKED)
def test_a_compressed_file_of_any_name_may_have_several_frames(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix]
    halves = pack(TABLE[:7]) + pack(b"") + pack(TABLE[7:])
    assert list(read_pairs(one_file(tmp_path / "text", halves))) == PAIRS


@pytest.mark.parametrize("suffix", PACKED)
def test_truncated_content_is_refused_as_damaged(tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix](TABLE * 3)
    cut_off = [packed[:keep] for keep in range(8, len(packed))]  # after the bytes by which it is recognised
    second_frames = [packed + second for second in (packed[:-1], packed[:7], b"x")]
    for content in (*cut_off, *second_frames):
        message = complaint(one_file(tmp_path / f"text.tsv{suffix}", content))
        assert message.startswith(f"{tmp_path / 'text.tsv'}{suffix} is damaged or truncated (")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there to play a file without an end")
def test_a_device_is_refused() -> None:
    message = complaint(SourceConfig(name="text", path="/dev/full"))
    assert message.startswith("corpus source `text`: /dev/full is a pipe or a device; write its text")


def test_a_side_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    source = SourceConfig(name="text", source_path=str(tmp_path), target_path=str(tmp_path))
    with pytest.raises(StorageError, match="this is a folder, and a file was expected"):
        list(read_pairs(source))


# --- names ---

EXAMPLES = yaml.safe_load(Path(__file__).with_name("source_names.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("group", EXAMPLES["languages"])
def test_the_language_at_the_end_of_a_name(group: dict[str, Any]) -> None:
    expected = None if "none" in group else (group["stem"], group["language"])
    for name in group["names"]:
        assert split_language(name) == expected


# --- on the command line ---


@pytest.mark.parametrize(("arguments", "names"), EXAMPLES["arguments"])
def test_corpus_arguments_become_sources_with_names_of_their_own(
    arguments: list[list[str]], names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.en").write_bytes(ENGLISH)
    Path("texts.gz").write_bytes(gzip.compress(ENGLISH))
    Path("my.fa").write_bytes(PERSIAN)
    for name in EXAMPLES["tables"]:
        Path(name).write_bytes(TABLE)
    corpora = corpora_in_arguments(arguments)
    assert [corpus.name for corpus in corpora] == names
    for corpus in corpora:
        assert list(read_pairs(corpus)) == PAIRS


@pytest.mark.parametrize("path", ["a\tb.tsv", "a\0.zip"])
def test_a_path_with_a_control_character_is_refused(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a\tb.tsv").touch()
    with pytest.raises(InputError, match="has a control character"):
        corpora_in_arguments([[path]])

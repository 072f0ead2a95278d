"""What is fetched is checked before it is in its place, and nothing of the user's is ever written over."""

import hashlib
import json
import logging
from pathlib import Path

import pytest
from corpus.download.file_server import (
    TEXTS,
    Answer,
    FileServer,
    good_members,
    tar_bytes,
    tar_dataset,
    zip_bytes,
    zip_dataset,
)

from translator.corpus.download import download_dataset
from translator.corpus.download.datasets import Dataset
from translator.corpus.download.download import obtain
from translator.errors import CorpusError, InputError


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def refusal(dataset: Dataset, folder: Path) -> str:
    with pytest.raises(CorpusError) as caught:
        obtain(dataset, folder, waits=())
    return str(caught.value)


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    """What the person is told."""
    monkeypatch.setattr(logging.getLogger("translator"), "propagate", True)
    caplog.set_level(logging.INFO, logger="translator")
    return caplog


def test_a_file_that_is_there_and_right_is_left(
    server: FileServer, tmp_path: Path, told: pytest.LogCaptureFixture
) -> None:
    dataset = zip_dataset(server, sha256=sha256(server.content), size=len(server.content))
    path = obtain(dataset, tmp_path)
    assert "Toy corpus; licence: CC0" in told.text and server.address in told.text
    before = path.stat().st_ino, path.stat().st_mtime_ns
    told.clear()
    assert obtain(dataset, tmp_path) == path
    assert "is there already and right; nothing to download" in told.text
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before
    assert len(server.asked) == 1


def test_a_wrong_checksum_puts_nothing_in_place(server: FileServer, tmp_path: Path) -> None:
    right = zip_bytes(seed=2)
    dataset = zip_dataset(server, sha256=sha256(right))
    message = refusal(dataset, tmp_path)
    assert f"has the SHA-256 {sha256(server.content)}, where {sha256(right)} is expected" in message
    assert f"It was moved to {tmp_path / 'toy.zip.refused'}" in message
    assert [file.name for file in tmp_path.iterdir()] == ["toy.zip.refused"]
    server.content = right
    assert obtain(dataset, tmp_path).read_bytes() == right


def test_an_unknown_checksum_is_told_and_kept(
    server: FileServer, tmp_path: Path, told: pytest.LogCaptureFixture
) -> None:
    obtain(zip_dataset(server), tmp_path)
    assert f"its SHA-256 is {sha256(server.content)}; none is published" in told.text
    record = json.loads((tmp_path / "toy.zip.download.json").read_text(encoding="utf-8"))
    assert record == {
        "address": server.address,
        "licence": "CC0",
        "size": len(server.content),
        "sha256": sha256(server.content),
    }


def test_a_later_download_is_compared_with_the_first(server: FileServer, tmp_path: Path) -> None:
    obtain(zip_dataset(server), tmp_path).unlink()
    first, server.content = server.content, zip_bytes(seed=2)
    message = refusal(zip_dataset(server), tmp_path)
    assert sha256(server.content) in message and sha256(first) in message
    assert "remove that record if you trust the new file" in message
    server.content = first
    assert obtain(zip_dataset(server), tmp_path).read_bytes() == first


def test_a_file_that_changed_on_disk_is_not_right(server: FileServer, tmp_path: Path) -> None:
    path = obtain(zip_dataset(server), tmp_path)
    changed = bytearray(path.read_bytes())
    changed[1000] ^= 1
    path.write_bytes(changed)
    assert "and what was downloaded before had" in refusal(zip_dataset(server), tmp_path)
    assert path.read_bytes() == changed


@pytest.mark.parametrize("record", ["{", "[1]", '{"sha256": 5}', '{"sha256": "zz"}'])
def test_a_damaged_record(server: FileServer, tmp_path: Path, record: str) -> None:
    (tmp_path / "toy.zip.download.json").write_text(record, encoding="utf-8")
    assert "toy.zip.download.json is damaged" in refusal(zip_dataset(server), tmp_path)


def test_a_file_put_there_by_hand_is_taken(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "toy.zip").write_bytes(server.content)
    assert obtain(zip_dataset(server), tmp_path) == tmp_path / "toy.zip"
    assert (tmp_path / "toy.zip.download.json").exists()
    assert server.asked == []


def test_another_corpus_in_its_place_is_left(server: FileServer, tmp_path: Path) -> None:
    own = zip_bytes(members=("mine.en", "mine.fa"))
    (tmp_path / "toy.zip").write_bytes(own)
    message = refusal(zip_dataset(server), tmp_path)
    assert "has no member T.en-fa.en or T.en-fa.fa. Members: mine.en, mine.fa" in message
    assert "It was left as it is" in message
    assert (tmp_path / "toy.zip").read_bytes() == own
    assert server.asked == []


def test_the_right_texts_of_a_tar_are_unpacked(server: FileServer, tmp_path: Path) -> None:
    server.content = tar_bytes(good_members())
    folder = obtain(tar_dataset(server), tmp_path)
    assert folder == tmp_path / "toy"
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        "dev.en": TEXTS["dev/eng_Latn.dev"],
        "dev.fa": TEXTS["dev/pes_Arab.dev"],
    }
    before = folder.stat().st_ino, folder.stat().st_mtime_ns
    assert obtain(tar_dataset(server), tmp_path) == folder
    assert (folder.stat().st_ino, folder.stat().st_mtime_ns) == before
    assert len(server.asked) == 1


def test_texts_that_someone_changed_are_left(server: FileServer, tmp_path: Path) -> None:
    server.content = tar_bytes(good_members())
    folder = obtain(tar_dataset(server), tmp_path)
    (folder / "dev.fa").write_bytes(b"mine\n")
    assert "dev.fa is not as" in refusal(tar_dataset(server), tmp_path)
    assert (folder / "dev.fa").read_bytes() == b"mine\n"
    (folder / "dev.fa").unlink()
    assert "dev.fa is not as" in refusal(tar_dataset(server), tmp_path)


def test_a_file_where_the_texts_belong_is_left(server: FileServer, tmp_path: Path) -> None:
    server.content = tar_bytes(good_members())
    (tmp_path / "toy").write_bytes(b"mine")
    assert "move" in refusal(tar_dataset(server), tmp_path)
    assert (tmp_path / "toy").read_bytes() == b"mine"


def test_a_hostile_tar_writes_nothing(server: FileServer, tmp_path: Path) -> None:
    members = good_members()
    members[2][0].name = "../../escaped"
    server.content = tar_bytes(members)
    folder = tmp_path / "deep" / "data"
    message = refusal(tar_dataset(server), folder)
    assert "its member ../../escaped leads out of the archive" in message
    assert [file.name for file in folder.iterdir()] == ["toy.tar.gz.refused"]
    assert [file.name for file in tmp_path.rglob("*escaped*")] == []


def test_a_tar_that_is_cut_off(server: FileServer, tmp_path: Path) -> None:
    whole = tar_bytes(good_members())
    server.content = whole
    server.answers = [Answer(200, whole[:-20])]
    assert "is damaged or was cut off" in refusal(tar_dataset(server), tmp_path)
    assert obtain(tar_dataset(server), tmp_path) == tmp_path / "toy"


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no corpus `europarl` to download; there are: mizan, tatoeba, flores200"):
        download_dataset("europarl", tmp_path)
    assert list(tmp_path.iterdir()) == []

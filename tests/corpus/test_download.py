"""A download is checked before it is moved into place, and no file of the user's is ever overwritten."""

import hashlib
import io
import json
import logging
import shlex
import tarfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from tests.support.corpora import contents, zip_bytes
from translator.config import NormalizationConfig
from translator.corpus.download import RETRIES, download_dataset
from translator.corpus.held_out import held_out_argument, read_held_out
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.public_corpora import DATASETS, Dataset, find_dataset
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.sources import corpora_in_arguments
from translator.errors import CorpusError

PAIRS = [("A book.", "یک کتاب."), ("Two books.", "دو کتاب."), ("The end.", "پایان.")]
ENGLISH = "".join(f"{english}\n" for english, _ in PAIRS).encode()
PERSIAN = "".join(f"{persian}\n" for _, persian in PAIRS).encode()


def opus_zip(corpus: str, persian: str = "fa") -> bytes:
    """Return a zip with the members of one that OPUS offers."""
    stem = f"{corpus}.en-{persian}"
    return zip_bytes({"README": b"x", f"{stem}.en": ENGLISH, f"{stem}.{persian}": PERSIAN, f"{stem}.ids": b"x"})


def flores_tar(english: str = "eng_Latn") -> bytes:
    """Return a tar with some members of FLORES-200, of which the English ones have this name."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for part in ("dev", "devtest"):
            for language, text in ((english, ENGLISH), ("pes_Arab", PERSIAN), ("prs_Arab", b"x\n")):
                member = tarfile.TarInfo(f"./flores200_dataset/{part}/{language}.{part}")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
    return stream.getvalue()


def segments() -> bytes:
    """Return JSON Lines like those of WMT24++, in which one segment is bad, and one has two lines."""
    rows: list[dict[str, Any]] = [{"source": "CANARY", "target": "CANARY", "is_bad_source": True}]
    rows += [{"source": english, "target": persian, "is_bad_source": False} for english, persian in PAIRS]
    rows[-1]["source"] = "The\nend."
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


STAND_INS = {
    "mizan": [opus_zip("MIZAN")],
    "tatoeba": [opus_zip("Tatoeba", "pes")],
    "opus:CCMatrix/v1": [opus_zip("CCMatrix")],
    "flores200": [flores_tar()],
    "ntrex128": [ENGLISH.replace(b"\n", b"\r\n"), PERSIAN.replace(b"\n", b"\r\n")],
    "wmt24pp": [segments()],
}
"""The files of each dataset, small, with the names and the form of the real ones."""
ZIP, OTHER_ZIP = opus_zip("toy"), opus_zip("other")


@dataclass
class Server:
    """What servers send: `answers` in turn, each as status, body and announced length; then the file of the address."""

    files: dict[str, bytes] = field(default_factory=dict)
    answers: list[tuple[int, bytes, int]] = field(default_factory=list)
    requests: int = 0

    def send(self, adapter: HTTPAdapter, request: Any, **_: object) -> Any:
        self.requests += 1
        if self.answers:
            status, body, length = self.answers.pop(0)
        elif request.url in self.files:
            status, body = 200, self.files[request.url]
            length = len(body)
        else:
            raise requests.ConnectionError("nobody answers")
        headers = {"Content-Length": str(length)}
        return adapter.build_response(request, HTTPResponse(io.BytesIO(body), headers, status, preload_content=False))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr("time.sleep", lambda _: None)  # pooch's pause between two attempts
    monkeypatch.setattr(HTTPAdapter, "send", lambda adapter, request, **_: server.send(adapter, request))
    return server


def dataset_of(server: Server, name: str, files: list[bytes], **changes: Any) -> Dataset:
    """Return the dataset `name`, of whose addresses the server sends these files in place of the real ones."""
    dataset = find_dataset(name)
    settings = {"size": None, "sha256": None, **changes}
    server.files = {file.address: content for file, content in zip(dataset.files, files, strict=False)}
    return replace(dataset, files=tuple([replace(file, **settings) for file in dataset.files]))


def obtain(dataset: Dataset, folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DATASETS, dataset.name, dataset)
        return download_dataset(dataset.name, folder)


def refusal(dataset: Dataset, folder: Path) -> str:
    with pytest.raises(CorpusError) as caught:
        obtain(dataset, folder)
    return str(caught.value)


@pytest.mark.parametrize("name", [*DATASETS, "opus:CCMatrix/v1"])
def test_a_downloaded_dataset_is_a_corpus_or_test_sets_as_it_is(server: Server, tmp_path: Path, name: str) -> None:
    dataset = dataset_of(server, name, STAND_INS[name])
    folder = tmp_path / "my data"
    obtain(dataset, folder)
    for argument in dataset.arguments(folder):
        option, value = shlex.split(argument)
        if option == "--corpus":
            (source,) = corpora_in_arguments([[value]])
            assert [(pair.source, pair.target) for pair in read_pairs(source)] == PAIRS
        else:
            test_set = read_held_out(held_out_argument(value), Normalizer(NormalizationConfig()))
            references = [texts[0] for texts in test_set.references]
            assert list(zip(test_set.sources, references, strict=True)) == PAIRS

    # A text that is missing later is written again, and no other.
    files = contents(folder)
    if dataset.parts:
        (folder / dataset.name / f"{dataset.parts[0]}.fa").unlink()
    if dataset.unpack is not None:
        (folder / dataset.name / f"{dataset.parts[0]}.en").write_bytes(b"mine")
        files[f"{dataset.name}/{dataset.parts[0]}.en"] = b"mine"
    obtain(dataset, folder)
    assert contents(folder) == files

    # None of the files is private, unless the umask says so.
    new = tmp_path / "new"
    new.touch()
    assert {path.stat().st_mode for path in folder.rglob("*") if path.is_file()} == {new.stat().st_mode}


def test_download_retries_after_errors_and_damage_and_skips_an_existing_file(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="translator")
    server.answers = [(200, ZIP[:99], len(ZIP)), (503, b"", 0), (200, OTHER_ZIP, len(OTHER_ZIP))]
    dataset = dataset_of(server, "mizan", [ZIP], sha256=hashlib.sha256(ZIP).hexdigest(), size=len(ZIP))
    path = obtain(dataset, tmp_path)
    assert path.read_bytes() == ZIP
    assert "licence: CC BY 4.0" in caplog.text

    # A second call asks the server for nothing and leaves the file as it is.
    before = path.stat().st_ino, path.stat().st_mtime_ns
    assert obtain(dataset, tmp_path) == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before
    assert server.requests == 4
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "content", "changes", "reason"),
    [
        ("mizan", OTHER_ZIP, {"sha256": hashlib.sha256(ZIP).hexdigest()}, hashlib.sha256(OTHER_ZIP).hexdigest()),
        ("mizan", OTHER_ZIP, {"size": 99}, f"has {len(OTHER_ZIP):,} bytes, but 99 are expected"),
        ("mizan", b"<html>Log in first</html>", {}, "is damaged or truncated"),
        ("mizan", ZIP[:-9], {}, "is damaged or truncated"),
        ("mizan", zip_bytes({"mine.en": b""}), {}, "has no table, TMX or pair of texts like X.en and X.fa"),
        ("flores200", ZIP, {}, "is damaged or truncated"),
        ("flores200", flores_tar("fra_Latn"), {}, "is damaged or truncated ('eng_Latn.dev')"),
        ("wmt24pp", b'{"source": "A", "target": null}\n', {}, "is damaged or truncated"),
        ("wmt24pp", b"no JSON\n", {}, "is damaged or truncated"),
    ],
    ids=range(9),  # the bytes of a tar have the time
)
def test_a_wrong_or_damaged_download_is_refused_and_not_kept(
    server: Server, tmp_path: Path, name: str, content: bytes, changes: dict[str, Any], reason: str
) -> None:
    dataset = dataset_of(server, name, [content], **changes)
    message = refusal(dataset, tmp_path)
    assert message.startswith(f"cannot download {dataset.files[0].address}: ")
    assert reason in message
    assert f"put it at {tmp_path / dataset.files[0].name}, and run" in message
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_fails_again_and_again_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.answers = [(503, b"", 0)] * 9
    assert "503" in refusal(dataset_of(server, "ntrex128", []), tmp_path)
    assert server.requests == RETRIES + 1
    nowhere = dataset_of(server, "mizan", [])
    assert "Check the network (https_proxy sets a proxy)" in refusal(nowhere, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_placed_by_hand_is_used_if_valid_and_never_overwritten(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mizan.zip").write_bytes(ZIP)
    assert obtain(dataset_of(server, "mizan", []), tmp_path) == tmp_path / "mizan.zip"
    message = refusal(dataset_of(server, "mizan", [], sha256=hashlib.sha256(OTHER_ZIP).hexdigest()), tmp_path)
    assert "The file is unchanged: move it away to download mizan" in message
    assert (tmp_path / "mizan.zip").read_bytes() == ZIP
    assert server.requests == 0


# --- names ---


@pytest.mark.parametrize(("name", "file"), [("QED/v2.0a", "en-fa.txt.zip"), ("bible-uedin/v1", "en-pes.txt.zip")])
def test_a_corpus_of_opus_has_the_address_of_its_version(name: str, file: str) -> None:
    (remote_file,) = find_dataset(f"opus:{name}").files
    assert remote_file.address == f"https://object.pouta.csc.fi/OPUS-{name}/moses/{file}"

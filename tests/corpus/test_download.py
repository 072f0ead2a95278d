"""A download is checked before it is moved into place, and no file of the user's is ever overwritten."""

import contextlib
import hashlib
import http.server
import io
import logging
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
import yaml
from corpus.corpora import contents, zip_bytes

from translator.config import SourceConfig
from translator.corpus import download
from translator.corpus.download import DATASETS, Dataset, download_dataset, recipe_snippet
from translator.errors import CorpusError, InputError, RunError
from translator.run.work_folders import _work_name, work_folder


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


ZIP = zip_bytes({"T.en-fa.en": b"A book.\n", "T.en-fa.fa": "یک کتاب.\n".encode(), "README": b"x" * 99})
OTHER_ZIP = zip_bytes({"T.en-fa.en": b"The book.\n", "T.en-fa.fa": "کتاب.\n".encode()})
TEXTS = {
    "dev/eng_Latn.dev": b"A book.\n",
    "dev/pes_Arab.dev": "یک کتاب.\n".encode(),
    "dev/fra_Latn.dev": b"Un livre.\n",
}


def tar_bytes(names: Mapping[str, bytes], link: str = "") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in names.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if link and name.endswith(link):
                member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


TAR = tar_bytes({f"./flores/{name}": text for name, text in TEXTS.items()})


@dataclass
class Server:
    """What a server sends: `answers` in turn, each as status, body and announced length; afterwards `content`."""

    content: bytes
    port: int = 0
    answers: list[tuple[int, bytes, int]] = field(default_factory=list)
    asked: int = 0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("time.sleep", lambda _: None)  # pooch's pause between two attempts
    state = Server(ZIP)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked += 1
            whole = (200, state.content, len(state.content))
            status, body, announced = state.answers.pop(0) if state.answers else whole
            self.send_response(status)
            self.send_header("Content-Length", str(announced))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        state.port = found.server_address[1]
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        found.shutdown()
        thread.join()


TOY = Dataset(
    name="toy",
    title="Toy corpus",
    licence="CC0",
    home="https://example.org/toy",
    address="",
    file_name="toy.zip",
    members={"T.en-fa.en": "", "T.en-fa.fa": ""},
)


def zip_dataset(server: Server, **changes: Any) -> Dataset:
    return replace(TOY, **{"address": f"http://127.0.0.1:{server.port}/corpus", **changes})


def tar_dataset(server: Server) -> Dataset:
    members = {"dev/eng_Latn.dev": "dev.en", "dev/pes_Arab.dev": "dev.fa"}
    return replace(zip_dataset(server), file_name="toy.tar.gz", members=members)


def obtain(dataset: Dataset, folder: Path) -> Path:
    with mock.patch.multiple(download, RETRIES=2, TIMEOUT=5.0, DATASETS={dataset.name: dataset}):
        return download_dataset(dataset.name, folder)


def refusal(dataset: Dataset, folder: Path) -> str:
    with pytest.raises(CorpusError) as caught:
        obtain(dataset, folder)
    return str(caught.value)


@pytest.mark.parametrize(
    "answers", [[], [(503, b"", 0)], [(200, ZIP[:99], len(ZIP)), (429, b"", 0)]], ids=["whole", "busy", "broken off"]
)
def test_download_retries_after_errors_and_skips_an_existing_file(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, answers: list[tuple[int, bytes, int]]
) -> None:
    caplog.set_level(logging.INFO, logger="translator")
    server.answers = list(answers)
    dataset = zip_dataset(server, sha256=sha256(ZIP), size=len(ZIP))
    path = obtain(dataset, tmp_path / "data")
    assert path.read_bytes() == ZIP
    assert "Toy corpus; licence: CC0" in caplog.text and dataset.address in caplog.text
    before = path.stat().st_ino, path.stat().st_mtime_ns
    assert obtain(dataset, tmp_path / "data") == path
    assert "exists and passes all checks; nothing to download" in caplog.text
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before
    assert server.asked == len(answers) + 1
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "changes", "reason"),
    [
        (OTHER_ZIP, {"sha256": sha256(ZIP)}, f"{sha256(ZIP)} but got {sha256(OTHER_ZIP)}"),
        (OTHER_ZIP, {"size": len(ZIP)}, f"has {len(OTHER_ZIP):,} bytes, but {len(ZIP):,} are expected"),
        (b"<html>Log in first</html>", {}, "is damaged or truncated (File is not a zip file)"),
        (ZIP[:-9], {}, "is damaged or truncated"),
        (zip_bytes({"mine.en": b""}), {}, "has no member T.en-fa.en or T.en-fa.fa. Members: mine.en"),
    ],
)
def test_a_wrong_or_damaged_download_is_refused_and_not_kept(
    server: Server, tmp_path: Path, content: bytes, changes: dict[str, Any], reason: str
) -> None:
    server.content = content
    message = refusal(zip_dataset(server, **changes), tmp_path)
    assert message.startswith(f"cannot download http://127.0.0.1:{server.port}/corpus: ") and reason in message
    assert f"(see https://example.org/toy), put it at {tmp_path / 'toy.zip'}, and run" in message
    assert list(tmp_path.iterdir()) == []


def test_download_fails_after_all_retries_and_leaves_no_file(server: Server, tmp_path: Path) -> None:
    server.answers = [(404, b"", 0)] * 9
    assert "404" in refusal(zip_dataset(server), tmp_path)
    assert server.asked == 3
    nowhere = zip_dataset(server, address="http://127.0.0.1:9/corpus")
    assert "Check the network (https_proxy sets a proxy)" in refusal(nowhere, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_placed_by_hand_is_used_if_valid_and_never_overwritten(server: Server, tmp_path: Path) -> None:
    (tmp_path / "toy.zip").write_bytes(ZIP)
    assert obtain(zip_dataset(server), tmp_path) == tmp_path / "toy.zip"
    (tmp_path / "toy.zip").write_bytes(OTHER_ZIP)
    message = refusal(zip_dataset(server, size=len(ZIP)), tmp_path)
    assert "The file is unchanged: move it away to download toy" in message
    assert (tmp_path / "toy.zip").read_bytes() == OTHER_ZIP
    assert server.asked == 0


def test_only_the_listed_members_of_a_tar_are_unpacked(server: Server, tmp_path: Path) -> None:
    server.content = TAR
    for _ in range(2):
        assert obtain(tar_dataset(server), tmp_path) == tmp_path / "toy"
    wanted = {"dev.en": TEXTS["dev/eng_Latn.dev"], "dev.fa": TEXTS["dev/pes_Arab.dev"]}
    assert contents(tmp_path / "toy") == wanted
    assert server.asked == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TAR[:-3], "is damaged or truncated"),
        (tar_bytes({"dev/eng_Latn.dev": b"x"}), "has no member dev/pes_Arab.dev. Members: dev/eng_Latn.dev"),
        (tar_bytes(TEXTS, link="eng_Latn.dev"), "has no member dev/eng_Latn.dev"),
        (ZIP, "is damaged or truncated (Not a gzipped file"),
    ],
)
def test_a_damaged_or_incomplete_tar_is_refused(server: Server, tmp_path: Path, content: bytes, reason: str) -> None:
    server.content = content
    assert reason in refusal(tar_dataset(server), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_corpus_name_error_lists_the_known_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown corpus `europarl`; corpora to download: mizan, tatoeba, flores200"):
        download_dataset("europarl", tmp_path)


@pytest.mark.parametrize("name", DATASETS)
def test_recipe_snippet_refers_only_to_downloaded_files(name: str) -> None:
    folder, dataset = Path("my data/پیکره"), DATASETS[name]
    assert all(urlsplit(address).scheme == "https" for address in (dataset.address, dataset.home))
    text = recipe_snippet(name, folder)
    assert text.startswith(f"# {dataset.title}; licence: {dataset.licence}\n")
    entries = [entry for keys in yaml.safe_load(text).values() for entries in keys.values() for entry in entries]
    fetched = {str(folder / dataset.file_name), *(str(folder / name / place) for place in dataset.members.values())}
    for source in map(SourceConfig.model_validate, entries):
        assert {source.path, source.source_path, source.target_path} - {None} <= fetched
        assert {source.source_member, source.target_member} - {None} <= set(dataset.members)


def test_a_download_clears_what_a_killed_one_left_and_nothing_else(server: Server, tmp_path: Path) -> None:
    for name in (_work_name("toy.zip", "0123abcd"), ".toy.zip.partial", ".mizan.zip.12345.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").write_bytes(b"x")
    obtain(zip_dataset(server), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"toy.zip", ".toy.zip.partial", ".mizan.zip.12345.partial"}


def test_a_second_download_of_the_same_corpus_is_refused(server: Server, tmp_path: Path) -> None:
    with (
        work_folder(tmp_path / "toy.zip") as living,
        pytest.raises(RunError, match=r"another process is writing .*toy\.zip; wait for it"),
    ):
        obtain(zip_dataset(server), tmp_path)
    assert not living.exists()
    assert obtain(zip_dataset(server), tmp_path).read_bytes() == ZIP

"""A download is checked before it is moved into place, and no file of the user's is ever overwritten."""

import contextlib
import hashlib
import http.server
import io
import json
import logging
import shlex
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.support.corpora import contents, zip_bytes
from translator.config import NormalizationConfig, SourceConfig
from translator.corpus import download
from translator.corpus.download import download_dataset
from translator.corpus.evaluation_texts import flores_texts, wmt_texts
from translator.corpus.held_out import held_out_argument, read_held_out
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.public_corpora import DATASETS, Dataset, RemoteFile, find_dataset
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.sources import corpora_in_arguments
from translator.errors import CorpusError, InputError


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
                member.type = tarfile.SYMTYPE
                member.linkname = "/etc/passwd"
                member.size = 0
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


TAR = tar_bytes({f"./flores/{name}": text for name, text in TEXTS.items()})


@dataclass
class Server:
    """What a server sends: `answers` in turn, each as status, body and announced length; afterwards `content`.

    A path that `contents` names has its own content.
    """

    content: bytes
    contents: dict[str, bytes] = field(default_factory=dict)
    port: int = 0
    answers: list[tuple[int, bytes, int]] = field(default_factory=list)
    requests: int = 0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("time.sleep", lambda _: None)  # pooch's pause between two attempts
    state = Server(ZIP)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests += 1
            content = state.contents.get(self.path, state.content)
            whole = (200, content, len(content))
            status, body, announced = state.answers.pop(0) if state.answers else whole
            self.send_response(status)
            self.send_header("Content-Length", str(announced))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        state.port = http_server.server_address[1]
        thread = threading.Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        http_server.shutdown()
        thread.join()


TOY = Dataset(name="toy", title="Toy corpus", licence="CC0", home="https://example.org/toy", files=())


def zip_dataset(server: Server, name: str = "toy.zip", **changes: Any) -> Dataset:
    file = RemoteFile(**{"address": f"http://127.0.0.1:{server.port}/corpus", "name": name, **changes})
    return replace(TOY, files=(file,))


def tar_dataset(server: Server) -> Dataset:
    return replace(zip_dataset(server, "toy.tar.gz"), parts=("dev",), unpack=flores_texts)


def obtain(dataset: Dataset, folder: Path) -> Path:
    with (
        mock.patch.multiple(download, RETRIES=2, TIMEOUT=5.0),
        mock.patch.object(download, "find_dataset", return_value=dataset),
    ):
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
    assert "Toy corpus; licence: CC0" in caplog.text
    assert dataset.files[0].address in caplog.text

    # A second call asks the server for nothing and leaves the file as it is.
    before = path.stat().st_ino, path.stat().st_mtime_ns
    assert obtain(dataset, tmp_path / "data") == path
    assert "exists and passes all checks; nothing to download" in caplog.text
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before
    assert server.requests == len(answers) + 1
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "changes", "reason"),
    [
        (OTHER_ZIP, {"sha256": sha256(ZIP)}, f"{sha256(ZIP)} but got {sha256(OTHER_ZIP)}"),
        (OTHER_ZIP, {"size": len(ZIP)}, f"has {len(OTHER_ZIP):,} bytes, but {len(ZIP):,} are expected"),
        (b"<html>Log in first</html>", {}, "is damaged or truncated (File is not a zip file)"),
        (ZIP[:-9], {}, "is damaged or truncated"),
        (zip_bytes({"mine.en": b""}), {}, "has no table, TMX or pair of texts like X.en and X.fa"),
    ],
)
def test_a_wrong_or_damaged_download_is_refused_and_not_kept(
    server: Server, tmp_path: Path, content: bytes, changes: dict[str, Any], reason: str
) -> None:
    server.content = content
    message = refusal(zip_dataset(server, **changes), tmp_path)
    assert message.startswith(f"cannot download http://127.0.0.1:{server.port}/corpus: ")
    assert reason in message
    assert f"(see https://example.org/toy), put it at {tmp_path / 'toy.zip'}, and run" in message
    assert list(tmp_path.iterdir()) == []


def test_download_fails_after_all_retries_and_leaves_no_file(server: Server, tmp_path: Path) -> None:
    server.answers = [(503, b"", 0)] * 9
    assert "503" in refusal(zip_dataset(server), tmp_path)
    assert server.requests == 3
    nowhere = zip_dataset(server, address="http://127.0.0.1:9/corpus")
    assert "Check the network (https_proxy sets a proxy)" in refusal(nowhere, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_download_leaves_no_folder(server: Server, tmp_path: Path) -> None:
    server.answers = [(404, b"", 0)] * 9
    refusal(small_dataset(server, "ntrex128"), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["flores200", "ntrex128", "wmt24pp"])
def test_a_missing_text_of_a_dataset_is_written_again(server: Server, tmp_path: Path, name: str) -> None:
    dataset = small_dataset(server, name)
    folder = obtain(dataset, tmp_path)
    texts = contents(folder)
    (folder / f"{dataset.parts[0]}.fa").unlink()
    obtain(dataset, tmp_path)
    assert contents(folder) == texts


def test_a_file_placed_by_hand_is_used_if_valid_and_never_overwritten(server: Server, tmp_path: Path) -> None:
    (tmp_path / "toy.zip").write_bytes(ZIP)
    assert obtain(zip_dataset(server), tmp_path) == tmp_path / "toy.zip"
    (tmp_path / "toy.zip").write_bytes(OTHER_ZIP)
    message = refusal(zip_dataset(server, size=len(ZIP)), tmp_path)
    assert "The file is unchanged: move it away to download toy" in message
    assert (tmp_path / "toy.zip").read_bytes() == OTHER_ZIP
    assert server.requests == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TAR[: len(TAR) // 2], "is damaged or truncated"),
        (tar_bytes({"dev/eng_Latn.dev": b"x"}), "lacks a member like eng_Latn.dev or pes_Arab.dev"),
        (tar_bytes(TEXTS, link="eng_Latn.dev"), "lacks a member like eng_Latn.dev or pes_Arab.dev"),
        (ZIP, "is damaged or truncated ("),
    ],
    ids=["half", "member missing", "link", "zip"],  # the bytes of a tar have the time
)
def test_a_damaged_or_incomplete_tar_is_refused(server: Server, tmp_path: Path, content: bytes, reason: str) -> None:
    server.content = content
    assert reason in refusal(tar_dataset(server), tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- the table ---

PAIRS = [("A book.", "یک کتاب."), ("Two books.", "دو کتاب."), ("The end.", "پایان.")]
ENGLISH = "".join(f"{english}\n" for english, _ in PAIRS).encode()
PERSIAN = "".join(f"{persian}\n" for _, persian in PAIRS).encode()
SEGMENTS = [
    {"lp": "en-fa_IR", "domain": "canary", "source": "CANARY", "target": "CANARY", "is_bad_source": True},
    *({"source": english, "target": persian, "is_bad_source": False} for english, persian in PAIRS[:2]),
    {"source": "The\nend.", "target": "پایان.", "original_target": "تمام.", "is_bad_source": False},
]


def opus_zip(corpus: str, persian: str = "fa") -> bytes:
    """Return a zip with the members of one that OPUS offers."""
    stem = f"{corpus}.en-{persian}"
    members = {"README": b"x", "LICENSE": b"x", f"{stem}.en": ENGLISH, f"{stem}.{persian}": PERSIAN}
    return zip_bytes({**members, f"{stem}.scores": b"1.1\n1.2\n1.3\n", f"{stem}.ids": b"x"})


def flores_tar() -> bytes:
    """Return a tar with some members of FLORES-200."""
    texts = {"eng_Latn": ENGLISH, "pes_Arab": PERSIAN, "prs_Arab": b"x\n"}
    names = {
        f"./flores200_dataset/{part}/{language}.{part}": text
        for part in ("dev", "devtest")
        for language, text in texts.items()
    }
    return tar_bytes(names)


STAND_INS = {
    "mizan": [opus_zip("MIZAN")],
    "tatoeba": [opus_zip("Tatoeba", "pes")],
    "opus:CCMatrix/v1": [opus_zip("CCMatrix")],
    "opus:QED/v2.0a": [opus_zip("QED")],
    "opus:bible-uedin/v1": [opus_zip("bible-uedin", "pes")],
    "flores200": [flores_tar()],
    "ntrex128": [ENGLISH.replace(b"\n", b"\r\n"), PERSIAN.replace(b"\n", b"\r\n")],
    "wmt24pp": ["".join(json.dumps(row) + "\n" for row in SEGMENTS).encode()],
}
"""The files of each dataset, small, with the names and the form of the real ones."""


def small_dataset(server: Server, name: str) -> Dataset:
    """Return the dataset `name`, with its stand-ins on the server in place of the real files."""
    dataset = find_dataset(name)
    files = []
    for number, (file, content) in enumerate(zip(dataset.files, STAND_INS[name], strict=True)):
        server.contents[f"/{number}"] = content
        address = f"http://127.0.0.1:{server.port}/{number}"
        files.append(replace(file, address=address, size=len(content), sha256=sha256(content)))
    return replace(dataset, files=tuple(files))


def texts_of_source(source: SourceConfig) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(source)]


def test_every_dataset_has_a_stand_in() -> None:
    assert STAND_INS.keys() > DATASETS.keys()


@pytest.mark.parametrize("name", STAND_INS)
def test_a_downloaded_dataset_is_a_corpus_or_test_sets_as_it_is(server: Server, tmp_path: Path, name: str) -> None:
    dataset = small_dataset(server, name)
    folder = tmp_path / "my data"
    obtain(dataset, folder)
    for argument in dataset.arguments(folder):
        option, value = shlex.split(argument)
        if option == "--corpus":
            (source,) = corpora_in_arguments([[value]])
            assert texts_of_source(source) == PAIRS
        else:
            test_set = read_held_out(held_out_argument(value), Normalizer(NormalizationConfig()))
            references = [texts[0] for texts in test_set.references]
            assert list(zip(test_set.sources, references, strict=True)) == PAIRS


@pytest.mark.parametrize(
    ("name", "file"),
    [("CCMatrix/v1", "en-fa.txt.zip"), ("bible-uedin/v1", "en-pes.txt.zip"), ("Tatoeba/v2", "en-pes.txt.zip")],
)
def test_a_corpus_of_opus_has_the_address_of_its_version(name: str, file: str) -> None:
    (remote_file,) = find_dataset(f"opus:{name}").files
    assert remote_file.address == f"https://object.pouta.csc.fi/OPUS-{name}/moses/{file}"


@pytest.mark.parametrize("name", ["opus:", "opus:CCMatrix", "opus:../v1", "opus:A/v1/x", "opus:A/..", "opus:A b/v1"])
def test_a_wrong_name_of_opus_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(InputError, match=r"give opus:NAME/VERSION .* opus:CCMatrix/v1"):
        find_dataset(name)


def test_an_unknown_corpus_name_error_lists_the_known_names(tmp_path: Path) -> None:
    names = "mizan, tatoeba, flores200, ntrex128, wmt24pp, opus:NAME/VERSION"
    with pytest.raises(InputError, match=f"unknown corpus `europarl`; corpora to download: {names}"):
        download_dataset("europarl", tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"{}\n", b"[]\n", b"no JSON\n", b'{"source": "A", "target": null}\n', b'{"source": "A"}\n'],
    ids=["no texts", "a list", "no JSON", "no target", "one side"],
)
def test_json_lines_without_both_texts_are_refused(server: Server, tmp_path: Path, content: bytes) -> None:
    server.content = content
    dataset = replace(zip_dataset(server, "toy.jsonl"), parts=("test",), unpack=wmt_texts)
    assert "line 1 is not JSON with the texts `source` and `target`" in refusal(dataset, tmp_path)
    assert list(tmp_path.iterdir()) == []

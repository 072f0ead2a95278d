"""A server on this machine that gives one file, honestly or as a list of answers says, and archives to put into it."""

import contextlib
import http.server
import io
import random
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from translator.corpus.download.datasets import Dataset, Use

TEXTS = {"dev/eng_Latn.dev": b"A book.\n", "dev/pes_Arab.dev": "یک کتاب.\n".encode()}
PLACES = {"dev/eng_Latn.dev": "dev.en", "dev/pes_Arab.dev": "dev.fa"}


@dataclass
class Answer:
    """One answer of a server; `announced` is its Content-Length, None for none."""

    status: int = 200
    body: bytes = b""
    announced: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    falls_silent: bool = False
    """Keep the connection open after the body."""


@dataclass
class FileServer:
    """What the server gives, and what it was asked."""

    content: bytes
    port: int = 0
    tag: str | None = '"first"'
    date: str | None = None
    answers: list[Answer] = field(default_factory=list)
    """Given in turn; after them the server is honest."""
    honours_ranges: bool = True
    asked: list[dict[str, str]] = field(default_factory=list)
    """Headers of each request, their names in lower case."""
    released: threading.Event = field(default_factory=threading.Event)
    """Set to let go of connections that fell silent."""
    hung: bool = False
    """Whether a client waited for such a connection until the server closed it."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/corpus"

    def answer(self, headers: Mapping[str, str]) -> Answer:
        self.asked.append({name.lower(): value for name, value in headers.items()})
        if self.answers:
            return self.answers.pop(0)
        asked = self.asked[-1]
        given = {name: value for name, value in (("ETag", self.tag), ("Last-Modified", self.date)) if value}
        size = len(self.content)
        if not self.honours_ranges or "range" not in asked or asked.get("if-range") not in (self.tag, self.date):
            return Answer(200, self.content, size, given)
        start = int(asked["range"].removeprefix("bytes=").removesuffix("-"))
        if start >= size:
            return Answer(416, b"", 0, {"Content-Range": f"bytes */{size}"})
        given["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        return Answer(206, self.content[start:], size - start, given)

    def broken_off(self, after: int, *, announced: int | None = None) -> Answer:
        """Return an answer of `after` bytes that announces more."""
        whole = len(self.content) if announced is None else announced
        return Answer(200, self.content[:after], whole, {"ETag": self.tag} if self.tag else {})


@contextlib.contextmanager
def serving(content: bytes) -> Iterator[FileServer]:
    """Serve `content` on a free port of the loopback interface while the block runs."""
    state = FileServer(content)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = state.answer(dict(self.headers))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.announced is not None:
                self.send_header("Content-Length", str(answer.announced))
            self.send_header("Connection", "close")
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the client has seen enough
                self.wfile.write(answer.body)
            if answer.falls_silent:
                state.hung = not state.released.wait(10)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def zip_bytes(seed: int = 1, members: Sequence[str] = ("T.en-fa.en", "T.en-fa.fa", "README")) -> bytes:
    """Return a zip of about 200 kB."""
    generator = random.Random(seed)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member in members:
            archive.writestr(member, generator.randbytes(70_000))
    return packed.getvalue()


def tar_bytes(members: Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """Return a tar.gz of `members`; the size of each is set to that of its bytes, unless it has one."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for member, content in members:
            member.size = member.size or len(content)
            archive.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return packed.getvalue()


def good_members() -> list[tuple[tarfile.TarInfo, bytes]]:
    """Return members as the right archive has them, others among them."""
    texts = {**TEXTS, "dev/fra_Latn.dev": b"Un livre.\n"}
    return [(tarfile.TarInfo(f"./flores/{name}"), text) for name, text in texts.items()]


def zip_dataset(server: FileServer, **changes: Any) -> Dataset:
    """Return the entry of a table for the zip that `server` gives."""
    dataset = Dataset(
        name="toy",
        title="Toy corpus",
        licence="CC0",
        home="https://example.org/toy",
        address=server.address,
        file_name="toy.zip",
        format="zip",
        members={"T.en-fa.en": "", "T.en-fa.fa": ""},
        uses=(Use("corpus.sources", {"name": "toy", "path": "toy.zip"}),),
    )
    return replace(dataset, **changes)


def tar_dataset(server: FileServer, **changes: Any) -> Dataset:
    """Return the entry of a table for the tar.gz that `server` gives."""
    return replace(zip_dataset(server), file_name="toy.tar.gz", format="tar.gz", members=PLACES, **changes)

"""Servers that are in trouble, say no or send elsewhere, and networks that are not there."""

import http.client
import io
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from corpus.download.fetching import HALF, get, names, ranges, refusal
from corpus.download.file_server import Answer, FileServer, serving, zip_dataset

from translator.corpus.download import connection
from translator.corpus.download.download import obtain


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_trouble_on_the_server_may_pass(server: FileServer, tmp_path: Path, status: int) -> None:
    server.answers = [Answer(status, b"<html>sorry</html>", 18)]
    assert get(server, tmp_path) == server.content


def test_trouble_does_not_cost_what_is_here(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(HALF), Answer(500), Answer(200, b"<html>log in</html>", 19)]
    assert "a web page" in refusal(server, tmp_path)
    assert (tmp_path / "toy.zip.partial").read_bytes() == server.content[:HALF]


def test_trouble_that_stays_is_told(server: FileServer, tmp_path: Path) -> None:
    server.answers = [Answer(503, announced=0) for _ in range(9)]
    assert "the server answers 503 Service Unavailable" in refusal(server, tmp_path)
    assert len(server.asked) == 3
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("status", "told"),
    [(404, "no such file (it answers 404 Not Found)"), (403, "will not give it (it answers 403"), (418, "418")],
)
def test_a_no_is_taken_at_once(server: FileServer, tmp_path: Path, status: int, told: str) -> None:
    server.answers = [Answer(status, announced=0)]
    message = refusal(server, tmp_path)
    assert told in message
    assert len(server.asked) == 1
    for needed in (server.address, "https://example.org/toy", str(tmp_path / "toy.zip"), "https_proxy"):
        assert needed in message


@pytest.mark.parametrize("status", [204, 304])
def test_other_answers_are_no_file(server: FileServer, tmp_path: Path, status: int) -> None:
    server.answers = [Answer(status)]
    assert "cannot download" in refusal(server, tmp_path)


def test_a_web_page_is_no_archive(server: FileServer, tmp_path: Path) -> None:
    server.answers = [Answer(200, b"\n<!DOCTYPE html>\x1b[2J<title>Log in", 33)]
    message = refusal(server, tmp_path)
    assert "is a web page, as a login page or a filter sends it" in message
    assert "\x1b" not in message
    assert names(tmp_path) == []


def test_redirects_are_followed(server: FileServer, tmp_path: Path) -> None:
    server.answers = [Answer(302, announced=0, headers={"Location": "/elsewhere"})]
    assert get(server, tmp_path) == server.content


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/corpus", "data:,x", "http://[", "/corpus"])
def test_redirects_elsewhere_or_in_circles_are_refused(server: FileServer, tmp_path: Path, target: str) -> None:
    server.answers = [Answer(302, announced=0, headers={"Location": target}) for _ in range(20)]
    assert "the server redirects" in refusal(server, tmp_path)
    assert names(tmp_path) == []


def test_a_redirect_from_https_to_http_is_refused() -> None:
    request = urllib.request.Request("https://example.org/a")
    with pytest.raises(connection.RefusedError, match="not a safe address"):
        connection._Redirects().redirect_request(
            request,
            io.BytesIO(),
            302,
            "",
            http.client.HTTPMessage(),
            "http://example.org/b",
        )


def test_no_network_is_told_with_what_to_do(tmp_path: Path) -> None:
    with serving(b"") as gone:
        pass
    message = refusal(gone, tmp_path)
    assert "Connection refused" in message
    assert f"put it at {tmp_path / 'toy.zip'}, and run the same command again" in message


def test_a_name_that_nobody_knows(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise urllib.error.URLError(OSError(-2, "Name or service not known"))

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", fail)
    assert f"cannot download {server.address}: Name or service not known." in refusal(server, tmp_path)


def test_a_certificate_that_is_not_trusted_is_told_at_once(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[object] = []

    def fail(*arguments: object, **options: object) -> None:
        tries.append(arguments)
        error = ssl.SSLCertVerificationError(1, "failed")
        error.verify_message = "self-signed certificate"
        raise urllib.error.URLError(error)

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", fail)
    message = refusal(server, tmp_path)
    assert "the certificate of the server is not trusted (self-signed certificate)" in message
    assert len(tries) == 1


def test_a_server_that_falls_silent_is_left(server: FileServer, tmp_path: Path) -> None:
    silent = server.broken_off(HALF)
    silent.falls_silent = True
    server.answers = [silent]
    path = obtain(zip_dataset(server), tmp_path, waits=(0.0,), timeout=0.2)
    assert not server.hung
    server.released.set()
    assert path.read_bytes() == server.content
    assert ranges(server) == [None, f"bytes={HALF}-"]

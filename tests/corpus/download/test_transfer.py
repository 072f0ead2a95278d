"""Connections that break, lie or change their mind: what comes at the end is the file, or one clear line."""

import hashlib
import http.client
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus.download.fetching import HALF, get, names, ranges, refusal
from corpus.download.file_server import Answer, FileServer, zip_bytes

from translator.corpus.download import connection, transfer
from translator.errors import StorageError
from translator.lock import exclusive


def test_a_file_comes_whole_and_leaves_nothing_beside(server: FileServer, tmp_path: Path) -> None:
    folder = tmp_path / "a new" / "پوشه"
    assert get(server, folder) == server.content
    assert names(folder) == ["toy.zip", "toy.zip.download.json"]
    assert server.asked[0]["accept-encoding"] == "identity"


def test_a_broken_download_is_gone_on_with(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(HALF)]
    assert get(server, tmp_path) == server.content
    assert ranges(server) == [None, f"bytes={HALF}-"]
    assert server.asked[1]["if-range"] == server.tag


def test_a_later_process_goes_on_where_the_first_gave_up(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(HALF)]
    message = refusal(server, tmp_path, waits=())
    assert f"the connection ended after 100,000 of {len(server.content):,} bytes" in message
    assert "100,000 bytes are kept in" in message
    assert names(tmp_path) == ["toy.zip.partial", "toy.zip.partial.json"]
    assert get(server, tmp_path) == server.content
    assert ranges(server) == [None, f"bytes={HALF}-"]


def test_a_date_serves_where_there_is_no_strong_tag(server: FileServer, tmp_path: Path) -> None:
    server.tag, server.date = 'W/"weak"', "Sat, 21 Nov 2020 10:00:00 GMT"
    server.answers = [
        Answer(200, server.content[:HALF], len(server.content), {"ETag": server.tag, "Last-Modified": server.date})
    ]
    assert get(server, tmp_path) == server.content
    assert server.asked[1]["if-range"] == server.date


@pytest.mark.parametrize("tag", [None, 'W/"weak"'])
def test_without_a_way_to_tell_files_apart_it_starts_over(server: FileServer, tmp_path: Path, tag: str | None) -> None:
    server.tag = tag
    server.answers = [server.broken_off(HALF)]
    assert "kept" not in refusal(server, tmp_path, waits=())
    assert get(server, tmp_path) == server.content
    assert ranges(server) == [None, None]


def test_a_server_without_ranges_starts_over(server: FileServer, tmp_path: Path) -> None:
    server.honours_ranges = False
    server.answers = [server.broken_off(HALF)]
    assert get(server, tmp_path) == server.content
    assert ranges(server) == [None, f"bytes={HALF}-"]


def test_a_file_that_changes_between_attempts_starts_over(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(HALF)]
    refusal(server, tmp_path, waits=())
    server.content, server.tag = zip_bytes(seed=2), '"second"'
    assert get(server, tmp_path) == server.content


@pytest.mark.parametrize(
    ("tag", "place"),
    [
        ('"second"', "bytes {half}-{last}/{size}"),
        ('"first"', "bytes 0-{last}/{size}"),
        ('"first"', "bytes {half}-{last}/999999"),
        ('"first"', ""),
    ],
    ids=["another tag", "another place", "another size", "no place"],
)
def test_a_part_that_does_not_fit_is_not_glued_on(server: FileServer, tmp_path: Path, tag: str, place: str) -> None:
    other, size = zip_bytes(seed=2), len(server.content)
    headers = {"ETag": tag, "Content-Range": place.format(half=HALF, last=size - 1, size=size)}
    server.answers = [server.broken_off(HALF), Answer(206, other[HALF:], size - HALF, headers)]
    assert get(server, tmp_path) == server.content
    assert ranges(server) == [None, f"bytes={HALF}-", None]


def test_a_whole_partial_file_needs_only_its_checks(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(HALF)]
    refusal(server, tmp_path, waits=())
    (tmp_path / "toy.zip.partial").write_bytes(server.content)
    assert get(server, tmp_path) == server.content
    assert len(server.asked) == 2


def test_a_partial_file_longer_than_the_file_starts_over(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(HALF)]
    refusal(server, tmp_path, waits=())
    (tmp_path / "toy.zip.partial").write_bytes(server.content + b"more")
    assert get(server, tmp_path) == server.content


@pytest.mark.parametrize("state", ["{", "[]", '{"address": "http://other/", "validator": "x"}', '{"validator": 3}', ""])
def test_a_partial_file_of_unknown_origin_starts_over(server: FileServer, tmp_path: Path, state: str) -> None:
    (tmp_path / "toy.zip.partial").write_bytes(b"something else")
    (tmp_path / "toy.zip.partial.json").write_text(state, encoding="utf-8")
    assert get(server, tmp_path) == server.content
    assert ranges(server) == [None]


def test_a_header_cannot_be_smuggled_in_through_the_state(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "toy.zip.partial").write_bytes(b"something")
    state = {"address": server.address, "validator": "x\r\nHost: elsewhere"}
    (tmp_path / "toy.zip.partial.json").write_text(json.dumps(state), encoding="utf-8")
    assert get(server, tmp_path) == server.content
    assert "if-range" not in server.asked[0]


def test_a_length_too_long_is_an_error_at_last(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(len(server.content), announced=999_999) for _ in range(9)]
    message = refusal(server, tmp_path)
    assert f"the connection ended after {len(server.content):,} of 999,999 bytes" in message
    assert len(server.asked) == 3  # one, and one more for each wait
    server.answers = []
    assert get(server, tmp_path) == server.content  # the honest server says that nothing comes after
    assert ranges(server)[-1] == f"bytes={len(server.content)}-"


def test_a_length_too_short_gives_no_corpus(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(len(server.content), announced=HALF)]
    message = refusal(server, tmp_path)
    assert "is damaged or was cut off" in message
    assert "toy.zip.refused" in names(tmp_path)


def test_a_length_that_is_not_the_known_one_is_refused_at_once(server: FileServer, tmp_path: Path) -> None:
    message = refusal(server, tmp_path, size=5)
    assert f"the file of the server has {len(server.content):,} bytes, where 5 are expected" in message
    assert names(tmp_path) == []


def test_no_length_is_no_harm(server: FileServer, tmp_path: Path) -> None:
    server.answers = [Answer(200, server.content)]
    assert get(server, tmp_path) == server.content


def test_a_break_without_a_length_shows_by_the_known_size(server: FileServer, tmp_path: Path) -> None:
    server.answers = [Answer(200, server.content[:HALF], None, {"ETag": '"first"'})]
    assert get(server, tmp_path, size=len(server.content)) == server.content
    assert ranges(server) == [None, f"bytes={HALF}-"]


def chunked(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def test_a_body_in_chunks(server: FileServer, tmp_path: Path) -> None:
    headers = {"Transfer-Encoding": "chunked", "ETag": '"first"'}
    server.answers = [
        Answer(200, chunked(server.content[:HALF]), None, headers),  # the last chunk never comes
    ]
    assert get(server, tmp_path) == server.content
    assert ranges(server) == [None, f"bytes={HALF}-"]
    server.answers = [Answer(200, chunked(server.content) + b"0\r\n\r\n", None, headers)]
    assert get(server, tmp_path / "again") == server.content


def test_no_more_than_the_known_size_is_taken(server: FileServer, tmp_path: Path) -> None:
    server.answers = [Answer(200, server.content)]
    assert "sends more than the 1,000 bytes that are accepted" in refusal(server, tmp_path, size=1000)
    assert names(tmp_path) == []


def test_a_file_beyond_all_bounds_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(1000, announced=3 << 30)]
    assert "at most 2,147,483,648 are accepted" in refusal(server, tmp_path)


def test_waits_grow_and_start_anew_when_it_gets_on(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    server.answers = [Answer(500, announced=0), Answer(500, announced=0), server.broken_off(HALF), Answer(500)]
    assert get(server, tmp_path, waits=(1, 2, 3)) == server.content
    assert slept == [1, 2, 1, 2]


def test_a_stop_keeps_what_has_come(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(response: http.client.HTTPResponse) -> Iterator[bytes]:
        yield from itertools.islice(connection.read_chunks(response), 2)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(transfer, "read_chunks", stopped)
        with pytest.raises(KeyboardInterrupt):
            get(server, tmp_path)
    kept = (tmp_path / "toy.zip.partial").read_bytes()
    assert kept and server.content.startswith(kept) and len(kept) < len(server.content)
    assert get(server, tmp_path) == server.content
    assert ranges(server)[-1] == f"bytes={len(kept)}-"


def test_two_at_once_do_not_write_into_each_other(server: FileServer, tmp_path: Path) -> None:
    partial = tmp_path / "toy.zip.partial"
    partial.touch()
    with exclusive(partial) as free:
        assert free
        assert "is being downloaded by another process" in refusal(server, tmp_path)


def test_a_folder_that_cannot_be_written(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageError, match="a part of this path is a file"):
        get(server, tmp_path / "file" / "data")


def test_the_checksum_is_that_of_the_whole_file_after_a_resume(server: FileServer, tmp_path: Path) -> None:
    server.answers = [server.broken_off(HALF)]
    assert get(server, tmp_path, sha256=hashlib.sha256(server.content).hexdigest()) == server.content

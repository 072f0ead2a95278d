"""Reading pairs from every layout and compression, whole, truncated or damaged; every error names its file."""

import bz2
import io
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.corpora import (
    ENGLISH,
    PACKERS,
    PAIRS,
    PERSIAN,
    TABLE,
    Rows,
    complaint,
    folder_of,
    one_file,
    two_files,
    zip_bytes,
)
from translator.config import SourceConfig
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.sources import corpora_in_arguments, with_overrides
from translator.errors import InputError

PACKED = [suffix for suffix in PACKERS if suffix]
MEMBERS = {"en.txt": ENGLISH, "fa.txt": PERSIAN}
LINE = st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"])).map(
    lambda text: text.lstrip("\ufeff").removesuffix("\r")
)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(LINE, LINE), max_size=20),
    st.sampled_from(list(PACKERS)),
    st.sampled_from(list(PACKERS)),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_survives_in_any_layout(rows: Rows, english_suffix: str, persian_suffix: str, end: str) -> None:
    rows = [("English.", "فارسی."), *rows, ("The end.", "پایان.")]
    english = "".join(f"{source}{end}" for source, _ in rows).encode()
    persian = "".join(f"{target}{end}" for _, target in rows).encode()
    packed_english = PACKERS[english_suffix](english)
    packed_persian = PACKERS[persian_suffix](persian)

    # A pair whose sides are both blank is read as a pair of empty texts.
    expected = []
    for line, (source, target) in enumerate(rows, start=1):
        is_blank = not (source + target).strip()
        expected.append(Pair(line, "", "") if is_blank else Pair(line, source, target))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sides = {f"X.en{english_suffix}": packed_english, f"X.fa{persian_suffix}": packed_persian}
        assert list(read_pairs(folder_of(folder, sides))) == expected
        assert list(read_pairs(two_files(folder, packed_english, packed_persian))) == expected
        archive = zip_bytes({"en": english, "fa": persian})
        assert list(read_pairs(one_file(folder / "x.zip", archive))) == expected

        # A text with a tab cannot stand in a table.
        if b"\t" not in english + persian:
            table = "".join(f"{source}\t{target}{end}" for source, target in rows).encode()
            assert list(read_pairs(one_file(folder / "x", PACKERS[english_suffix](table)))) == expected


@pytest.mark.parametrize("suffix", PACKED)
def test_compression_is_detected_by_content_and_not_by_name(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix]
    for suffix_of_name in ("", ".packed", ".gz", ".XZ"):
        source = two_files(tmp_path, pack(ENGLISH), pack(PERSIAN), suffix_of_name)
        assert list(read_pairs(source)) == PAIRS


@pytest.mark.parametrize("suffix", PACKED)
def test_a_compressed_file_may_have_several_frames(tmp_path: Path, suffix: str) -> None:
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


def tar_file() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("text.en"))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (bz2.compress(TABLE), "bzip2 file"),
        (tar_file(), "tar archive"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "7z archive"),
        (b"Rar!\x1a\x07\x01\0", "rar archive"),
    ],
)
def test_unsupported_archive_formats_are_named_and_refused(tmp_path: Path, content: bytes, kind: str) -> None:
    assert f"is an unsupported {kind}; unpack it" in complaint(one_file(tmp_path / "text.tsv", content))


def test_max_pairs_counts_across_files_and_stops_reading(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "x", {"a.tsv": TABLE, "b.tsv": TABLE + b"wrong\n", "c.tsv": b"wrong"})
    for limit in range(1, 7):
        limited_source = source.model_copy(update={"max_pairs": limit})
        assert list(read_pairs(limited_source)) == (PAIRS * 2)[:limit]
    assert "c.tsv: no column for each text" in complaint(source)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there to play a file without an end")
def test_a_device_is_refused(tmp_path: Path) -> None:
    assert "/dev/full is a pipe or a device; write its text" in complaint(SourceConfig(name="text", path="/dev/full"))
    (tmp_path / "a.tsv").symlink_to("/dev/full")
    assert "has no table, TMX or pair" in complaint(SourceConfig(name="text", path=str(tmp_path)))


def test_overrides_of_sources_apply_before_a_recipe_exists() -> None:
    sources = [SourceConfig(name="a", path="a.zip"), SourceConfig(name="b", path="b.zip")]
    members = ["corpus.sources.1.source_member=x", "corpus.sources.1.target_member=y", "model.d_model=8"]
    assert with_overrides(sources, members) == [
        sources[0],
        SourceConfig(name="b", path="b.zip", source_member="x", target_member="y"),
    ]
    assert with_overrides(sources, members[:1]) == sources, "the recipe reports the mistake"


@pytest.mark.parametrize(
    "overrides",
    [
        ["corpus.sources.0.min_score={column: sco, at_least: 5e-1}"],
        ["corpus.sources.0.min_score.column=sco", "corpus.sources.0.min_score.at_least=5e-1"],
    ],
    ids=["a section", "its keys"],
)
def test_overrides_reach_the_keys_of_a_section_of_a_source(overrides: list[str]) -> None:
    (source,) = with_overrides([SourceConfig(name="a", path="a.zip")], overrides)
    assert source.model_dump()["min_score"] == {"column": "sco", "at_least": 0.5}


@pytest.fixture
def folder_of_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to a folder with two sides and three tables."""
    monkeypatch.chdir(tmp_path)
    Path("my.en").write_bytes(ENGLISH)
    Path("my.fa").write_bytes(PERSIAN)
    for name in ("my.tsv", "my-2.tsv", "b.tsv"):
        Path(name).write_bytes(TABLE)


@pytest.mark.usefixtures("folder_of_arguments")
@pytest.mark.parametrize("paths", [["my.en", "my.fa"], ["my.fa", "my.en"]])
def test_two_sides_in_any_order_are_one_corpus(paths: list[str]) -> None:
    sides = SourceConfig(name="my", source_path="my.en", target_path="my.fa")
    assert corpora_in_arguments([paths]) == [sides]


@pytest.mark.usefixtures("folder_of_arguments")
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([["my.en", "my.fa"], ["my.tsv", "b.tsv"]], ["my", "my-2", "b"]),
        ([["my.tsv", "my.tsv", "my-2.tsv"]], ["my", "my-2", "my-2-2"]),
    ],
)
def test_corpus_arguments_become_uniquely_named_sources(arguments: list[list[str]], names: list[str]) -> None:
    corpora = corpora_in_arguments(arguments)
    assert [corpus.name for corpus in corpora] == names
    for corpus in corpora:
        assert list(read_pairs(corpus)) == PAIRS


@pytest.mark.usefixtures("folder_of_arguments")
def test_a_path_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match=r"`no\.fa` cannot be found"):
        corpora_in_arguments([["my.en", "no.fa"]])


@pytest.mark.parametrize("paths", [["a\tb.tsv"], ["a.en", "a\nb.fa"], ["a\0.zip"]])
def test_a_path_with_a_control_character_is_refused_with_one_message(paths: list[str], tmp_path: Path) -> None:
    for path in paths:
        if "\0" not in path:
            (tmp_path / path).touch()
    with pytest.raises(InputError, match="has a control character, such as a tab"):
        corpora_in_arguments([[str(tmp_path / path) for path in paths]])


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        (
            {"source_path": "a", "target_path": "b", "source_column": "en", "target_column": "fa"},
            "need a table as `path`",
        ),
        ({"path": "a", "source_column": "en"}, "must be given together"),
        ({"path": "a", "source_column": 2, "target_column": 2}, "must be different columns"),
    ],
)
def test_keys_of_columns_belong_together(keys: dict[str, str | int], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        SourceConfig.model_validate({"name": "x", **keys})

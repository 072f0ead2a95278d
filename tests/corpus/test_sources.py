"""Reading pairs from every layout and compression, whole, truncated or damaged; every error names its file."""

import bz2
import io
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.corpora import (
    ENGLISH,
    LAYOUTS,
    PACKERS,
    PAIRS,
    PERSIAN,
    TABLE,
    Rows,
    complaint,
    folder_of,
    one_file,
    tsv,
    two_files,
    zip_bytes,
)
from translator.config import SourceConfig
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.sources import choose_members, corpora_in_arguments, source_files, with_overrides
from translator.errors import CorpusError, InputError

NO_TEXT = ["README", "README.md", "LICENSE.txt", "notes.md", ".hidden", ".DS_Store", "SHA256SUMS", "text.md5", "X.ids"]
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
    cut_off = [packed[:keep] for keep in range(len(packed)) if packed[:keep] != b"("]  # the first byte of zstd
    second_frames = [packed + second for second in (packed[:-1], packed[:7], b"x")]
    for content in (*cut_off, *second_frames):
        message = complaint(one_file(tmp_path / f"text.tsv{suffix}", content))
        assert message.startswith(f"{tmp_path / 'text.tsv'}{suffix} is damaged or truncated (")


@pytest.mark.parametrize("suffix", PACKED)
def test_text_may_be_called_compressed(tmp_path: Path, suffix: str) -> None:
    for content in (TABLE, TABLE.decode().encode("utf-16")):
        assert list(read_pairs(one_file(tmp_path / f"text.tsv{suffix}", content))) == PAIRS


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


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_is_read_with_every_supported_compression_method(tmp_path: Path, method: int) -> None:
    members = {name: text * 20_000 for name, text in MEMBERS.items()}
    source = one_file(tmp_path / "x", zip_bytes(members, method))
    assert [pair[1:] for pair in read_pairs(source)] == [pair[1:] for pair in PAIRS] * 20_000


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [(6, b"\1", "File 'en.txt' is encrypted, password required"), (8, b"\x09", "That compression method is not")],
)
def test_an_encrypted_or_unsupported_zip_is_refused(tmp_path: Path, offset: int, value: bytes, reason: str) -> None:
    content = bytearray(zip_bytes(MEMBERS))
    # A local header and the central directory hold the same field, in the latter two bytes further on.
    for signature, field_offset in ((b"PK\x03\x04", offset), (b"PK\x01\x02", offset + 2)):
        start = content.index(signature) + field_offset
        content[start : start + 1] = value
    message = complaint(one_file(tmp_path / "text.zip", bytes(content)))
    assert f"text.zip cannot be decompressed ({reason}" in message and "compress it again with deflate" in message


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["mizan_en.txt", "mizan_fa.txt"], ("mizan_en.txt", "mizan_fa.txt")),
        (["fa.txt", "en.txt"], ("en.txt", "fa.txt")),
        (["MIZAN.en-fa.ids", "README", "MIZAN.en-fa.fa", "MIZAN.en-fa.en"], ("MIZAN.en-fa.en", "MIZAN.en-fa.fa")),
        (["a b/EN.TXT", "a b/Fa.txt"], ("a b/EN.TXT", "a b/Fa.txt")),
        (["x/en.txt", "x/fa.txt", "__MACOSX/x/._en.txt", "__MACOSX/x/._fa.txt"], ("x/en.txt", "x/fa.txt")),
        (["متن_en.txt", "متن_fa.txt", "garden.txt"], ("متن_en.txt", "متن_fa.txt")),
        (["x/source", "x/target", "x/metadata.json"], ("x/source", "x/target")),
        (["README", "T.en-pes.pes", "T.en-pes.en", "T.en-pes.xml"], ("T.en-pes.en", "T.en-pes.pes")),
        (["x.fas", "x.eng", "x.prs_Arab"], ("x.eng", "x.fas")),
        (["x.eng", "x.prs"], "has no pair"),
        (["x/en-fa.tmx", "x/readme.txt"], ("x/en-fa.tmx",)),
        (["pairs.TSV", "__MACOSX/._pairs.TSV"], ("pairs.TSV",)),
        (["a.tsv", "b.tmx"], "has several tables; unpack it.*"),
        (["en.txt"], "has no pair of members like en.txt and fa.txt"),
        (["x/en.txt", "y/fa.txt"], "has no pair"),
        (["garden.txt", "sofa.txt"], "has no pair"),
        (["a.en", "a.fa", "b.en", "b.fa"], "has several pairs of texts"),
        (["en.txt", "fa.txt", "FA.txt"], "has several pairs of texts"),
    ],
)
def test_zip_members_are_recognised_or_listed_in_the_error(names: list[str], chosen: tuple[str, ...] | str) -> None:
    if isinstance(chosen, tuple):
        assert choose_members(Path("corpus.zip"), names, None, None) == chosen
    else:
        with pytest.raises(CorpusError, match=f"^corpus.zip {chosen}") as caught:
            choose_members(Path("corpus.zip"), names, None, None)
        message = str(caught.value)
        for name in names:
            assert name in message


def test_zip_members_given_by_name_are_found_or_refused() -> None:
    def chosen(names: str, english: str, persian: str) -> tuple[str, ...]:
        return choose_members(Path("corpus.zip"), names.split(), english, persian)

    for name in ("data/One.EN", "DATA/one.en", "one.en"):
        assert chosen("data/One.EN data/Two.FA en.txt fa.txt", name, "two.fa") == ("data/One.EN", "data/Two.FA")
    with pytest.raises(CorpusError, match=r"several members called `en`; give one with its folder: x/en, y/en"):
        chosen("x/en y/en fa", "en", "fa")
    with pytest.raises(CorpusError, match=r"are the same member, a"):
        chosen("a b", "a", "A")
    with pytest.raises(CorpusError, match=r"has no member `c`. Members: a, b"):
        chosen("a b", "a", "c")


@pytest.mark.parametrize("layout", ["files", "zip", "folder"])
def test_sides_of_different_length_are_refused_with_their_line_counts(tmp_path: Path, layout: str) -> None:
    english_lines = [f"{number} words\n" for number in range(1, 1201)]
    persian_lines = [f"{number} واژه\n" for number in range(1, 1200)]
    english = "".join(english_lines).encode()
    persian = "".join(persian_lines).encode()
    message = complaint(LAYOUTS[layout](tmp_path, english, persian))
    assert message.startswith("corpus source `text`: the two sides differ in length: ")
    assert " has 1,200 lines, " in message
    assert " has 1,199; line N of both sides must be a pair" in message


@pytest.mark.parametrize("layout", ["files", "zip", "folder"])
def test_a_side_without_lines_beside_a_text_is_refused(tmp_path: Path, layout: str) -> None:
    message = complaint(LAYOUTS[layout](tmp_path, b"", PERSIAN))
    assert " has 0 lines, " in message


def test_mistakes_in_a_source_entry_are_explained(tmp_path: Path) -> None:
    # A path at which there is no file.
    missing = SourceConfig(name="mizan", path=str(tmp_path / "mizan.zip"), obtain="Get it from the shelf.")
    assert f"`mizan`: {missing.path} does not exist. Get it from the shelf." in complaint(missing)
    assert "check the path" in complaint(missing.model_copy(update={"obtain": None}))

    # A Persian side that is the English file, an archive or a folder.
    sides = two_files(tmp_path)
    archive = one_file(tmp_path / "text.zip", zip_bytes(MEMBERS))
    folder = folder_of(tmp_path / "x", {"a.tsv": TABLE})
    for path, problem in {
        sides.source_path: "both sides are the same file",
        archive.path: "text.zip is a zip archive; unpack it, or as a corpus give it as `path`",
        folder.path: "x is a folder; give a file",
    }.items():
        assert problem in complaint(sides.model_copy(update={"target_path": path}))

    # Names of members for a source that is no zip archive.
    members = {"source_member": "en.txt", "target_member": "fa.txt"}
    table = one_file(tmp_path / "text.tsv", TABLE, **members)
    assert "text.tsv is not a zip archive" in complaint(table)
    assert "x is a folder; `source_member` and `target_member` name" in complaint(folder.model_copy(update=members))


def test_a_source_without_lines_is_refused(tmp_path: Path) -> None:
    assert "it has no lines" in complaint(two_files(tmp_path, b"", b""))
    for content in (b"", PACKERS[".gz"](b""), zip_bytes(dict.fromkeys(MEMBERS, b""))):
        assert "it has no lines" in complaint(one_file(tmp_path / "empty", content))


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "پیکره من"
    files = {
        "X.en": ENGLISH,
        "X.fa": PERSIAN,
        "X.en-fa.en.zst": PACKERS[".zst"](ENGLISH),
        "X.en-fa.fa.xz": PACKERS[".xz"](PERSIAN),
        "b.TSV.gz": PACKERS[".gz"](TABLE),
        **MEMBERS,
        "m.zip": zip_bytes({f"a/{name}": text for name, text in MEMBERS.items()}),
        "z.tsv": TABLE,
        "کتاب ها_en.txt": ENGLISH,
        "کتاب ها_fa.txt": PERSIAN,
    }
    source = folder_of(folder, files | dict.fromkeys(NO_TEXT, b"\xff"))
    assert source_files(source) == [folder / name for name in files]
    assert list(read_pairs(source)) == PAIRS * 7


def test_max_pairs_counts_across_files_and_stops_reading(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "x", {"a.tsv": TABLE, "b.tsv": TABLE + b"wrong\n", "c.tsv": b"wrong"})
    for limit in range(1, 7):
        limited_source = source.model_copy(update={"max_pairs": limit})
        assert list(read_pairs(limited_source)) == (PAIRS * 2)[:limit]
    assert "c.tsv: 1 of 1 rows do not have the right form (lines 1)" in complaint(source)
    source = two_files(tmp_path, ENGLISH + b"\xff\n").model_copy(update={"max_pairs": 3})
    assert list(read_pairs(source)) == PAIRS


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"b.en": PERSIAN, "b.fa": ENGLISH}, "b.fa; swap the columns, the names of the files, or `source_path`"),
        ({"b.en": b"", "b.fa": b""}, "b.fa: it has no lines"),
        ({"b.en": b"x\n", "b.fa": b"y\nz\n"}, "b.en has 1 lines"),
        ({"X.en.gz": b"", "Y.en": b"", "Y.fa": b""}, ": X.en.gz has no partner of the same name"),
        ({"X_fa.txt.zst": b""}, ": X_fa.txt.zst has no partner of the same name"),
        ({"FA": b""}, ": FA has no partner of the same name"),
        ({"X.en": b"", "X.fa": b"", "X.fa.gz": b""}, "X.fa, X.fa.gz are the same text; remove one"),
        ({"X.en": b"", "X.EN": b"", "X.fa": b""}, "X.EN, X.en are the same text; remove one"),
        ({"text.de": b""}, "`text.de`: unsupported file; move it"),
        ({"text.tar": b""}, "It holds: a.tsv, text.tar"),
        ({"x\ny": b""}, "unsupported file; move it"),
    ],
)
def test_a_faulty_file_in_a_folder_is_never_skipped(tmp_path: Path, files: dict[str, bytes], problem: str) -> None:
    assert problem in complaint(folder_of(tmp_path, {"a.tsv": TABLE, **files}))


@pytest.mark.parametrize("names", [[], NO_TEXT])
def test_a_folder_without_a_corpus_is_refused(tmp_path: Path, names: list[str]) -> None:
    message = complaint(folder_of(tmp_path, dict.fromkeys(names, b"")))
    assert "it has no zip, .tsv, .csv, .jsonl, .parquet, .tmx or pair like X.en and X.fa" in message
    assert message.endswith("It holds: nothing that could be a corpus")


@pytest.mark.parametrize(
    ("good", "bad", "refused"),
    [(2, 3, False), (5, 4, True), (399, 4, False), (398, 5, True), (0, 1, True)],
)
def test_few_bad_rows_are_dropped_and_many_are_refused(good: int, bad: int, refused: bool, tmp_path: Path) -> None:
    source = one_file(tmp_path / "x", "One.\tیک.\n".encode() * good + b"no tab\n" * bad)
    if refused:
        assert f"x: {bad} of {good + bad} rows do not have the right form (lines {good + 1}" in complaint(source)
    else:
        bad_rows = [pair for pair in read_pairs(source) if pair.defect == "bad_row"]
        assert len(bad_rows) == bad


def test_a_table_of_another_kind_is_refused_before_its_end(tmp_path: Path) -> None:
    source = one_file(tmp_path / "x", b"no tab\n" * 100_000)
    assert "x: 1,001 of 1,001 rows do not have" in complaint(source)


def test_a_zip_of_one_table_or_memory_is_read(tmp_path: Path) -> None:
    archive = zip_bytes({"a/b.tsv": TABLE, "README": b"x"})
    assert list(read_pairs(one_file(tmp_path / "x", archive))) == PAIRS


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


RIGHT, SWAPPED = ("The garden.", "باغ."), ("باغ.", "The garden.")
NOTHING, ONE_LANGUAGE = ("12", "۱۲"), ("abc", "abc")


@pytest.mark.parametrize(
    ("texts", "counts"),
    [
        ([ONE_LANGUAGE] * 20, None),
        ([NOTHING] * 20, None),
        ([*[SWAPPED] * 8, RIGHT], None),
        ([*[RIGHT] * 1000, *[SWAPPED] * 5000], None),
        ([("", ""), RIGHT], None),
        ([SWAPPED], "1 of the first 1 pairs"),
        ([*[SWAPPED] * 9, RIGHT], "9 of the first 10 pairs"),
        ([*[SWAPPED] * 999, *[RIGHT] * 5000], "999 of the first 1,000 pairs"),
        ([*[NOTHING] * 500, *[SWAPPED] * 700], "500 of the first 500 pairs"),
    ],
)
def test_swapped_sides_are_refused(tmp_path: Path, texts: list[tuple[str, str]], counts: str | None) -> None:
    source = tsv(tmp_path / "x.tsv", texts, source_column=1, target_column=2)
    if counts is None:
        assert [pair[1:3] for pair in read_pairs(source)] == texts
    else:
        assert complaint(source).startswith(
            f"corpus source `x`: {tmp_path}/x.tsv: the two sides are swapped: {counts} with letters are Persian in "
            "the column of the English text and English in the other; swap the columns"
        )


def test_columns_without_names_are_read_by_their_script(tmp_path: Path) -> None:
    source = tsv(tmp_path / "x.tsv", [SWAPPED] * 3)
    assert [pair[1:3] for pair in read_pairs(source)] == [RIGHT] * 3


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
@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        (["my.en", "no.fa"], "cannot be found"),
        (["my.en"], "one side of a corpus"),
        (["my.en", "my.fa", "my.en"], "two text files make one corpus"),
    ],
)
def test_paths_that_make_no_corpus_are_refused(paths: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        corpora_in_arguments([paths])


@pytest.mark.parametrize("paths", [["a\tb.tsv"], ["a.en", "a\nb.fa"], ["a\0.zip"]])
def test_a_path_with_a_control_character_is_refused_with_one_message(paths: list[str], tmp_path: Path) -> None:
    for path in paths:
        if "\0" not in path:
            (tmp_path / path).touch()
    with pytest.raises(InputError, match="has a control character, such as a tab or a line break"):
        corpora_in_arguments([[str(tmp_path / path) for path in paths]])

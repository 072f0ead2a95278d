"""Tables of every form: columns by name and by number, lines of names, scores, and what is refused."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import PACKERS, PAIRS, complaint, folder_of, one_file
from translator.config import CorpusConfig, SourceConfig
from translator.corpus.fingerprint import corpus_fingerprint
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepare import prepare_corpus
from translator.corpus.reading.columns import usual_columns
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.sources import choose_members, corpora_in_arguments
from translator.errors import CorpusError, InputError

TEXTS = [pair[1:3] for pair in PAIRS]


def texts_of(source: SourceConfig, notes: list[str] | None = None) -> list[tuple[str, str]]:
    """Return the texts of a source without defects."""
    all_notes: list[str] = [] if notes is None else notes
    pairs = list(read_pairs(source, note=all_notes.append))
    assert [pair.defect for pair in pairs] == [None] * len(pairs)
    return [pair[1:3] for pair in pairs]


def json_lines(values: Sequence[Any]) -> bytes:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode()


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["en", "fa"], (0, 1)),
        (["fa", "en", "sco"], (1, 0)),  # quickmt
        (["translation.en", "translation.fa"], (0, 1)),  # OPUS-100, TEP
        (["translation.csw", "translation.en", "translation.fa"], (1, 2)),
        (["id", "sentence_eng_Latn", "sentence_pes_Arab", "sentence_prs_Arab"], (1, 2)),
        (["English", "Persian"], (0, 1)),
        (["lp", "domain", "is_bad_source", "source", "target", "original_target"], (3, 4)),  # WMT24++
        (["source", "targets", "category"], (0, 1)),  # ParsiNLU
        (["english", "non_english"], (0, 1)),
        (["Tgt", "Src"], (1, 0)),
        (["source", "target", "en", "fa"], (2, 3)),
        (["text_en", "title_fa"], None),
        (["en", "prs"], None),
        ([], None),
    ],
)
def test_usual_names_of_columns(names: list[str], chosen: tuple[int, int] | None) -> None:
    assert usual_columns(names, "text") == (None if chosen is None else (names[chosen[0]], names[chosen[1]]))


def test_several_pairs_of_usual_names_are_a_choice_for_the_user() -> None:
    with pytest.raises(CorpusError, match=r"several columns .* Columns: title_en, title_fa, text_en, text_fa"):
        usual_columns(["title_en", "title_fa", "text_en", "text_fa"], "text")


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_json_lines_are_read_packed_or_not(tmp_path: Path, suffix: str) -> None:
    content = json_lines([{"id": 7, "translation": {"en": english, "fa": persian}} for english, persian in TEXTS])
    source = one_file(tmp_path / f"text.jsonl{suffix}", PACKERS[suffix](content + b"\n\n"))
    assert list(read_pairs(source)) == PAIRS


def test_values_of_json_lines_become_texts_of_one_line(tmp_path: Path) -> None:
    values = [{"source": "A\r\nb", "targets": ["یک", "دو"]}, {"source": "\ufeffc", "targets": "سه"}]
    assert texts_of(one_file(tmp_path / "x.json", json_lines(values))) == [("A b", "یک"), ("c", "سه")]


@pytest.mark.parametrize(
    "line",
    [
        b'{"en": "x"}',
        b'{"en": "x", "fa": null}',
        b'{"en": "x", "fa": 7}',
        b'{"en": "x", "fa": []}',
        b'{"en": "x", "fa": "\\ud800"}',
        b'{"en": "x", "fa": "\\u0000"}',
        b'{"en": "x", "fa": "y"',
        b'["x", "y"]',
        b"7" * 5000,
        b"[" * 100_000,
    ],
)
def test_a_line_without_an_object_with_two_texts_is_a_bad_row(tmp_path: Path, line: bytes) -> None:
    good = json_lines([{"en": english, "fa": persian} for english, persian in TEXTS])
    source = one_file(tmp_path / "text.jsonl", good + line + b"\n")
    *pairs, bad = read_pairs(source)
    assert pairs == PAIRS
    assert (bad.line, bad.target, bad.defect) == (4, "", "bad_row")


@pytest.mark.parametrize("first", [{"translation": None, "score": 2}, {"translation": {"en": "x", "fa": "y"}}, {}])
def test_a_first_object_without_a_column_is_a_bad_row(tmp_path: Path, first: dict[str, Any]) -> None:
    values = [{"translation": {"en": english, "fa": persian}, "score": 2} for english, persian in TEXTS]
    keys = {"min_score": {"column": "score", "at_least": 1.0}}
    source = one_file(tmp_path / "x.jsonl", json_lines([first, *values]), **keys)
    pairs = list(read_pairs(source))
    assert [pair.defect for pair in pairs] == ["bad_row", None, None, None]


def test_a_json_array_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    message = complaint(one_file(tmp_path / "my text.json", b'\n[{"en": "x", "fa": "y"}]'))
    assert message.endswith("convert it: jq -c '.[]' 'my text.json' > 'my text'.jsonl")


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("One.,یک.\n", [("One.", "یک.")]),
        ("\ufefffa,en\r\nیک.,One.\r\n", [("One.", "یک.")]),
        ('id,English,Persian\n1,"One, two.\nThree ""3"".",سه\n\n', [('One, two. Three "3".', "سه")]),
        ("Yes, sir, yes;بله\nNo, sir;نه\n", [("Yes, sir, yes", "بله"), ("No, sir", "نه")]),
        ("n,first,second\n1,One.,یک.\n2,Two.,دو.\n", [("One.", "یک."), ("Two.", "دو.")]),
        ("English text,Persian text\nOne.,یک.\n", [("One.", "یک.")]),
        ("First,one\nOne.,یک.\nTwo.,2\n", [("First", "one"), ("One.", "یک."), ("Two.", "2")]),
    ],
)
def test_csv_with_and_without_a_line_of_names(tmp_path: Path, content: str, texts: list[tuple[str, str]]) -> None:
    assert texts_of(one_file(tmp_path / "text.csv", content.encode())) == texts


def test_an_unknown_line_of_names_is_noted(tmp_path: Path) -> None:
    notes: list[str] = []
    table = one_file(tmp_path / "x.csv", "English text,Persian text\nOne.,یک.\n".encode())
    texts_of(table, notes)
    assert notes == [f"{tmp_path}/x.csv: line 1 has names; the columns `English text`, `Persian text` are read"]


def test_a_quotation_mark_without_end_costs_a_hundred_lines(tmp_path: Path) -> None:
    rows = ["House.,خانه.\n"] * 25_000
    rows[1000] = rows[9000] = '"House.,خانه.\n'
    table = one_file(tmp_path / "x.csv", "".join(rows).encode())
    lines_of_bad_rows = [pair.line for pair in read_pairs(table) if pair.defect == "bad_row"]
    assert lines_of_bad_rows == [*range(1001, 1101), *range(9001, 9101)]


def test_a_broken_row_of_csv_joins_no_two_pairs(tmp_path: Path) -> None:
    content = 'a,b\n"c,d\ne"x,f\ng,h"\n"i",j\nk,"l"\n'
    pairs = list(read_pairs(one_file(tmp_path / "text.csv", content.encode())))
    good_pairs = [pair for pair in pairs if pair.defect is None]
    lines_of_bad_rows = [pair.line for pair in pairs if pair.defect == "bad_row"]
    assert good_pairs == [Pair(1, "a", "b"), Pair(5, "i", "j"), Pair(6, "k", "l")]
    assert lines_of_bad_rows == [2, 3, 4]


@pytest.mark.parametrize(
    ("header", "keys"),
    [
        ("", {}),
        ("score\ten\tfa\n", {}),
        ("", {"source_column": 2, "target_column": 3}),
        ("a\tb\tc\n", {"source_column": "b", "target_column": "c"}),
    ],
)
def test_a_table_with_scores_first(tmp_path: Path, header: str, keys: dict[str, Any]) -> None:
    rows = [f"1.{place}\t{source}\t{target}\n" for place, (source, target) in enumerate(TEXTS)]
    content = header + "".join(rows)
    assert texts_of(one_file(tmp_path / "text.tsv", content.encode(), **keys)) == TEXTS


def test_numbers_between_and_before_the_texts_are_no_text(tmp_path: Path) -> None:
    rows = [f"{place}\t{source}\t5{place}\t{target}\n" for place, (source, target) in enumerate(TEXTS)]
    table = one_file(tmp_path / "text.tsv", "".join(rows).encode())
    notes: list[str] = []
    assert texts_of(table, notes) == TEXTS
    assert notes == [f"{tmp_path}/text.tsv: English is read from column 2, Persian from column 4"]


@pytest.mark.parametrize("score", ["nan", "", "high"])
def test_a_score_that_is_no_number_makes_no_column_of_texts(tmp_path: Path, score: str) -> None:
    rows = [f"0.{place}\tHouse {place}.\tخانهٔ {place}.\n" for place in range(300)]
    rows[7] = f"{score}\tHouse.\tخانه.\n"
    texts = texts_of(one_file(tmp_path / "text.tsv", "".join(rows).encode()))
    assert texts[8] == ("House 8.", "خانهٔ 8.")


def test_the_column_of_scores_is_no_text(tmp_path: Path) -> None:
    content = "good\tOne.\tیک.\n" * 3
    source = one_file(tmp_path / "x.tsv", content.encode(), min_score={"column": 1, "at_least": 1.0})
    assert "; a row needs English, a tab" in complaint(source)
    assert "and a score that is a number in column `1`; correct" in complaint(source)
    (tmp_path / "x.tsv").write_text("3\t2\n", encoding="utf-8")
    assert "no column for each text beside the scores" in complaint(source)


@pytest.mark.parametrize(
    ("english", "persian", "problem"),
    [
        ("House", "eng", "the Persian side is no Persian: 0 of its first 120 texts have Arabic-script letters"),
        ("خانه", "خانه", "the English side is no English: 0 of its first 120 texts have Latin letters"),
    ],
)
def test_a_side_without_letters_of_its_language_is_refused(
    tmp_path: Path, english: str, persian: str, problem: str
) -> None:
    content = f"{english}\t{persian}\tx\n" * 120
    message = complaint(one_file(tmp_path / "x.tsv", content.encode()))
    assert problem in message
    assert "; English is read from column " in message


def test_a_side_of_numbers_is_refused(tmp_path: Path) -> None:
    message = complaint(one_file(tmp_path / "x.tsv", b"House.\t5000123\n" * 120))
    assert "the Persian side is no Persian: 0 of its first 120 texts have letters; the first is `5000123`" in message


@pytest.mark.parametrize("column", [3, "score"])
def test_a_low_score_drops_a_pair_and_is_counted(tmp_path: Path, column: int | str) -> None:
    # Forty pairs with scores from 1.0 to 4.9; the first ten are below 2.0.
    rows = [f"House {n} is green.\tخانهٔ {n} سبز است.\t{n / 10}\n" for n in range(10, 50)]
    header = "en\tfa\tscore\n" if column == "score" else ""
    content = header + "".join(rows)
    source = one_file(tmp_path / "x.tsv", content.encode(), min_score={"column": column, "at_least": 2.0})

    config = CorpusConfig.model_validate(
        {
            "sources": [source],
            "prepared_directory": str(tmp_path),
            "filters": {"near_duplicates": None},
            "split": {"validation": 2, "test": 2},
        }
    )
    (report,) = prepare_corpus(config).report.sources
    assert report.read == 40
    assert report.dropped["low_score"] == 10
    assert sum(report.kept.values()) == 30


def test_a_score_that_is_no_number_is_a_bad_row(tmp_path: Path) -> None:
    keys = {"min_score": {"column": 3, "at_least": 1.0}}
    content = "One.\tیک.\t2\nTwo.\tدو.\thigh\nThree.\tسه.\t1e3\n"
    pairs = list(read_pairs(one_file(tmp_path / "x.tsv", content.encode(), **keys)))
    assert [pair.defect for pair in pairs] == [None, "bad_row", None]


@pytest.mark.parametrize(
    ("name", "content", "keys", "problem"),
    [
        ("x.tsv", "en\tfa\nOne.\tیک.\n", ("eng", "fa"), "no column `eng`; did you mean `en`? Columns: en, fa"),
        ("x.csv", "One.,یک.\n", (1, 3), "no column 3; it has 2"),
        (
            "x.tsv",
            "en\tfa\nOne.\tیک.\t1\nTwo.\tدو.\t2\n",
            (),
            "line 1 has the names of 2 columns, and most rows have 3",
        ),
        (
            "x.tsv",
            "One.\tیک.\n",
            ("en", "fa"),
            "Columns: One., یک.; line 1 has no such name; if the table has no line of names, give numbers, from 1",
        ),
        ("x.tsv", "en\tfa\nOne.\tیک.\n", ("en", 1), "`target_column` are the same column, `en`"),
        ("x.jsonl", '{"a": "One.", "b": "یک."}\n', (), "x.jsonl: no columns like `en` and `fa`"),
        ("x.jsonl", '{"en": "One.", "fa": "یک."}\n', ("en", "farsi"), "x.jsonl: no column `farsi`. Columns: en, fa"),
        ("x.tmx", "<tmx></tmx>", ("en", "fa"), "choose columns of a table, and this is a TMX; remove them"),
        ("x.tsv", "en\tfa\nیک.\tOne.\n", (), "in a table `source_column` and `target_column`"),
    ],
)
def test_mistakes_with_columns_are_explained(
    tmp_path: Path, name: str, content: str, keys: tuple[str | int, ...], problem: str
) -> None:
    columns = dict(zip(("source_column", "target_column"), keys, strict=False))
    assert problem in complaint(one_file(tmp_path / name, content.encode(), **columns))


def test_a_note_tells_the_columns_that_are_read(tmp_path: Path) -> None:
    notes: list[str] = []
    table = one_file(tmp_path / "x.jsonl", json_lines([{"en": "One.", "fa": "یک.", "id": 1}]))
    texts_of(table, notes)
    assert notes == [f"{tmp_path}/x.jsonl: the columns `en`, `fa` are read"]


def test_the_one_table_of_a_zip_is_chosen() -> None:
    assert choose_members(Path("x.zip"), ["README.md", "a/data.jsonl"], None, None) == ("a/data.jsonl",)


def test_a_zip_with_one_table_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a/data.csv", "One.,یک.\n")
    assert texts_of(SourceConfig(name="x", path=str(tmp_path / "x.zip"))) == TEXTS[:1]


def test_json_files_in_a_folder_are_read_without_those_of_metadata(tmp_path: Path) -> None:
    lines = json_lines([{"en": english, "fa": persian} for english, persian in TEXTS])
    source = folder_of(tmp_path / "x", {"train.json": lines, "dataset_infos.json": b"{}", "state.json": b"{}"})
    assert texts_of(source) == TEXTS


def test_held_out_text_beside_training_text_is_not_read(tmp_path: Path) -> None:
    # A data set of two shards for training and one for validation, in a folder below its README.
    folder = tmp_path / "dataset"
    folder.mkdir()
    (folder / "README.md").write_text("A data set.", encoding="utf-8")
    names = ("train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl", "validation-00000-of-00001.jsonl")
    shards = [json_lines([{"en": english, "fa": persian}]) for english, persian in TEXTS]
    folder_of(folder / "data", dict(zip(names, shards, strict=True)))

    notes: list[str] = []
    assert texts_of(SourceConfig(name="x", path=str(folder)), notes) == TEXTS[:2]
    assert notes == [f"{folder}: held-out text is not read: validation-00000-of-00001.jsonl; give it as a test set"]


def test_a_folder_of_mtdata_is_read(tmp_path: Path) -> None:
    files = {"train.eng": b"One.\n", "train.fas": "یک.\n".encode(), "dev.eng": b"x\n", "dev.fas": b"y\n"}
    source = folder_of(tmp_path / "x", files | {"mtdata.signature.txt": b"", "train.meta.jsonl.gz": b""})
    (tmp_path / "x" / "train-parts").mkdir()
    (tmp_path / "x" / "tests").mkdir()
    assert texts_of(source) == TEXTS[:1]


def test_the_form_and_the_columns_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    content = b"One, two.\t\xd8\xb3\xd9\x87\n"
    sources = [one_file(tmp_path / name, content) for name in ("x.tsv", "x.csv")]
    sources.append(one_file(tmp_path / "x.tsv", content, source_column=1, target_column=2))
    sources.append(one_file(tmp_path / "x.tsv", content, min_score={"column": 1, "at_least": 1.0}))
    fingerprints = set()
    for source in sources:
        config = CorpusConfig(sources=(source,))
        rules = Normalizer(config.normalization).rules
        fingerprints.add(corpus_fingerprint(config, [], rules))
    assert len(fingerprints) == 4


def test_tables_are_whole_corpora_in_arguments(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.jsonl.gz", "b.csv", "c.parquet")]
    for path in paths:
        path.write_bytes(b"")
    corpora = corpora_in_arguments([[str(path) for path in paths]])
    assert [corpus.name for corpus in corpora] == ["a", "b", "c"]


def test_keys_of_columns_need_a_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="need a table as `path`"):
        SourceConfig(name="x", source_path="a", target_path="b", source_column="en", target_column="fa")
    with pytest.raises(ValueError, match="must be given together"):
        SourceConfig(name="x", path="a", source_column="en")
    with pytest.raises(ValueError, match="must be different columns"):
        SourceConfig(name="x", path="a", source_column=2, target_column=2)


def test_without_pyarrow_a_parquet_file_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"is a Parquet file, and pyarrow .* -m pip install 'pyarrow"):
        list(read_pairs(one_file(tmp_path / "x.tsv", b"PAR1 and so on")))

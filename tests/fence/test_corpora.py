"""Prepare and train from every form of corpus, and be told what was read, what was dropped, and what cannot be read."""

import gzip
import json
import lzma
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import zstandard

from tests.fence.small_language import all_pairs
from tests.support.command_line import Finished, translator

INPUTS = Path("../shared/inputs").resolve()
Pairs = list[tuple[str, str]]
PAIRS_PER_FORM = 18


def lines(texts: list[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def table(rows: Sequence[tuple[str, ...]], delimiter: str = "\t") -> bytes:
    return lines([delimiter.join(row) for row in rows])


def english(pairs: Pairs) -> bytes:
    return lines([source for source, _ in pairs])


def persian(pairs: Pairs) -> bytes:
    return lines([target for _, target in pairs])


def tmx(pairs: Pairs) -> bytes:
    units = [
        f'<tu><tuv xml:lang="en-US"><seg>{source}</seg></tuv><tuv xml:lang="fa-IR"><seg>{target}</seg></tuv></tu>\n'
        for source, target in pairs
    ]
    return f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{"".join(units)}</body></tmx>'.encode()


def json_lines(pairs: Pairs) -> bytes:
    return lines([json.dumps({"en": source, "fa": target}) for source, target in pairs])


# --- one recipe with every form ---


def two_files(path: Path, pairs: Pairs, pack: Callable[[bytes], bytes] = bytes, suffix: str = "") -> str:
    files = Path(f"{path}.en{suffix}"), Path(f"{path}.fa{suffix}")
    files[0].write_bytes(pack(english(pairs)))
    files[1].write_bytes(pack(persian(pairs)))
    return f"source_path: {files[0]}, target_path: {files[1]}"


def one_file(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return f"path: {path}"


def zip_of(path: Path, members: dict[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return f"path: {path}"


def folder_of(path: Path, files: dict[str, bytes]) -> str:
    path.mkdir()
    for name, content in files.items():
        (path / name).write_bytes(content)
    return f"path: {path}"


def parquet(path: Path, pairs: Pairs) -> str:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"en": [source for source, _ in pairs], "fa": [target for _, target in pairs]}
    parquet.write_table(pyarrow.table(columns), path)
    return f"path: {path}"


FORMS: dict[str, Callable[[Path, Pairs], str]] = {
    "two_files": two_files,
    "gzip": lambda path, pairs: two_files(path, pairs, gzip.compress, ".gz"),
    "xz": lambda path, pairs: two_files(path, pairs, lzma.compress, ".xz"),
    "zstd": lambda path, pairs: two_files(path, pairs, zstandard.ZstdCompressor().compress, ".zst"),
    "zip": lambda path, pairs: zip_of(path, {"x/en.txt": english(pairs), "x/fa.txt": persian(pairs), "README": b"x"}),
    "zip_with_a_table": lambda path, pairs: zip_of(path, {"x/pairs.tsv": table(pairs)}),
    "zip_with_a_memory": lambda path, pairs: zip_of(path, {"x/en-fa.tmx": tmx(pairs), "x/readme.txt": b"x"}),
    "zip_of_argos": lambda path, pairs: zip_of(
        path, {"d-en_fa/source": english(pairs), "d-en_fa/target": persian(pairs), "d-en_fa/metadata.json": b"{}"}
    ),
    "folder": lambda path, pairs: folder_of(path, {"a.en": english(pairs), "a.fa": persian(pairs), "LICENSE": b"x"}),
    "tsv": lambda path, pairs: one_file(path.with_suffix(".tsv"), table(pairs)),
    "tsv_after_a_key": lambda path, pairs: one_file(
        path.with_suffix(".tsv"), table([(f"s-{number}", "en", *pair) for number, pair in enumerate(pairs)])
    ),
    "tsv_before_a_source": lambda path, pairs: one_file(
        path.with_suffix(".tsv"),
        table([(*pair, f"CC-BY 2.0 (France) example.org #{number}") for number, pair in enumerate(pairs)]),
    ),
    "tsv_with_persian_first": lambda path, pairs: one_file(
        path.with_suffix(".tsv"), table([(target, source) for source, target in pairs])
    ),
    "tsv_called_gz": lambda path, pairs: one_file(path.with_suffix(".tsv.gz"), table(pairs)),
    "tsv_with_a_blank_end": lambda path, pairs: one_file(path.with_suffix(".tsv"), table(pairs) + b"\n\n"),
    "csv": lambda path, pairs: one_file(
        path.with_suffix(".csv"), table([("fa", "en"), *[pair[::-1] for pair in pairs]], ",")
    ),
    "csv_of_excel": lambda path, pairs: one_file(path.with_suffix(".csv"), b"sep=;\r\n" + table(pairs, ";")),
    "csv_with_other_names": lambda path, pairs: one_file(
        path.with_suffix(".csv"),
        table(
            [
                ("", "Text", "English source", "Translation", "Student"),
                *[("1", "Text 1", *pair, pair[1]) for pair in pairs],
            ],
            ",",
        ),
    ),
    "json_lines": lambda path, pairs: one_file(path.with_suffix(".jsonl"), json_lines(pairs)),
    "tmx": lambda path, pairs: one_file(path.with_suffix(".tmx"), tmx(pairs)),
}
ODD: dict[str, Callable[[Path], str]] = {
    "entities": lambda path: one_file(
        path.with_suffix(".tsv"),
        table(
            [
                ("It&#39;s &quot;late&quot;&nbsp;now.", "حالا &laquo;دیر&raquo; است."),
                ("Wait&hellip; I&#x27;m coming.", "صبر کن&hellip; می&#8204;آیم."),
                ("Mirrors &amp; doors at AT&T &copy", "آینه‌ها &amp; درها &nosign;"),
            ]
        ),
    ),
    "no_words": lambda path: one_file(
        path.with_suffix(".tsv"),
        table([("12:30", "۱۲:۳۰"), ("* * *", "* * *"), ("25", "فصل بیست و پنجم"), ("Stay, 25!", "بمان، ۲۵!")]),
    ),
    "bad_row": lambda path: one_file(
        path.with_suffix(".tsv"),
        table(
            [("A cup", "یک فنجان"), ("A lamp", "", "یک چراغ"), ("", ""), ("A sofa", "یک مبل"), ("A cat", "", "گربه")]
        ),
    ),
    "missing_language": lambda path: one_file(path.with_suffix(".tmx"), CODES.encode()),
    "invalid_utf8": lambda path: (
        one_file(
            path.with_suffix(".tsv"), table([("Two rivers", "دو رود")]) + "One river\tرود\n".encode("windows-1256")
        )
        + ", invalid_utf8: drop"
    ),
    "low_score": lambda path: (
        one_file(
            path.with_suffix(".tsv"),
            table([("1.2", "A violin", "یک ویولن"), ("0.3", "A flute", "یک نی"), ("nan", "x", "ی")]),
        )
        + ", min_score: {column: 1, at_least: 1.05}"
    ),
}
"""Sources with faults, by the rule that drops pairs of them."""
CODES = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>First line<ph x="1">&lt;br/&gt;</ph>second line</seg></tuv>
<tuv xml:lang="fa"><seg>سطر اول<ph x="1">&lt;br/&gt;</ph>سطر دوم</seg></tuv></tu>
<tu><tuv xml:lang="EN-US"><seg>I&nbsp;want</seg></tuv><tuv xml:lang="fa-IR"><seg>می&zwnj;خواهم</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>English only</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Press &#x1F;</seg></tuv><tuv xml:lang="fa"><seg>فشار دهید</seg></tuv></tu>
</body></tmx>"""


RECIPE = """
run: {{directory: "{folder}/run", device: cpu, threads: 1}}
corpus:
  prepared_directory: "{folder}/prepared"
  split: {{validation: 0, test: 0}}
  sources:
{sources}
subword: {{model_type: bpe, vocabulary_size: 130}}
batching: {{tokens_per_batch: 512, max_length: 64}}
model: {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 16, max_positions: 64}}
training: {{max_steps: 1, precision: float32}}
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run whose recipe has sources of every form."""
    folder = tmp_path_factory.mktemp("forms")
    sources = ""
    for form, write in FORMS.items():
        sources += f"    - {{name: {form}, {write(folder / form, pairs_of_form(form))}}}\n"
    for rule, write_odd in ODD.items():
        sources += f"    - {{name: {rule}, {write_odd(folder / rule)}}}\n"
    (folder / "recipe.yaml").write_text(RECIPE.format(folder=folder, sources=sources), encoding="utf-8")
    result = translator("train", "--config", folder / "recipe.yaml")
    assert result.code == 0, result.err
    return folder


def pairs_of_form(form: str) -> Pairs:
    start = list(FORMS).index(form) * PAIRS_PER_FORM
    return all_pairs()[start : start + PAIRS_PER_FORM]


def training_text(folder: Path, name: str) -> Pairs:
    """Return the training text that was prepared of a source."""
    (english_file,) = (folder / "prepared").rglob(f"{name}.en")
    english_texts = english_file.read_text(encoding="utf-8").splitlines()
    persian_texts = english_file.with_suffix(".fa").read_text(encoding="utf-8").splitlines()
    return list(zip(english_texts, persian_texts, strict=True))


def dropped(folder: Path, name: str) -> dict[str, int]:
    """Return the counts of the rules that dropped pairs of a source, from the report of the run."""
    report = json.loads((folder / "run" / "preparation" / "report.json").read_text(encoding="utf-8"))
    (source,) = [source for source in report["corpus"]["sources"] if source["name"] == name]
    return {rule: count for rule, count in source["dropped"].items() if count}


@pytest.mark.parametrize("form", FORMS)
def test_a_model_trains_on_every_pair_of_a_corpus_in_whatever_form_it_comes(trained: Path, form: str) -> None:
    assert training_text(trained, form) == pairs_of_form(form)
    assert dropped(trained, form) == {}


# --- what is changed, and what is dropped and counted ---


def test_entities_become_the_signs_that_they_stand_for(trained: Path) -> None:
    assert training_text(trained, "entities") == [
        ('It\'s "late" now.', "حالا «دیر» است."),
        ("Wait… I'm coming.", "صبر کن… می\u200cآیم."),
        ("Mirrors & doors at AT&T &copy", "آینه\u200cها & درها &nosign;"),
    ]


def test_a_pair_with_a_side_without_words_is_dropped(trained: Path) -> None:
    assert training_text(trained, "no_words") == [("Stay, 25!", "بمان، ۲۵!")]
    assert dropped(trained, "no_words") == {"no_words": 3}


def test_a_row_with_a_column_too_many_is_dropped(trained: Path) -> None:
    assert training_text(trained, "bad_row") == [("A cup", "یک فنجان"), ("A sofa", "یک مبل")]
    assert dropped(trained, "bad_row") == {"bad_row": 2, "empty": 1}


def test_a_code_in_a_memory_parts_words_and_a_unit_without_persian_is_dropped(trained: Path) -> None:
    pairs = [("First line second line", "سطر اول سطر دوم"), ("I want", "می\u200cخواهم")]
    assert training_text(trained, "missing_language") == pairs
    assert dropped(trained, "missing_language") == {"missing_language": 1, "bad_row": 1}


def test_a_line_that_is_not_utf8_is_dropped_if_the_source_says_so(trained: Path) -> None:
    assert training_text(trained, "invalid_utf8") == [("Two rivers", "دو رود")]
    assert dropped(trained, "invalid_utf8") == {"invalid_utf8": 1}


def test_a_pair_with_a_low_score_is_dropped(trained: Path) -> None:
    assert training_text(trained, "low_score") == [("A violin", "یک ویولن")]
    assert dropped(trained, "low_score") == {"low_score": 1, "bad_row": 1}


# --- what cannot be read ---

SOME = all_pairs()[:5]
OTHER_TEXTS = {f"k{number}": "Text" for number in range(3)}
REFUSED: dict[str, tuple[dict[str, bytes], str]] = {
    "subtitles": ({"a.en.srt": b"1\n", "a.fa.srt": b"1\n"}, "a.en.srt is a file of subtitles"),
    "gettext": ({"a.po": b'msgid "x"\nmsgstr "y"\n'}, "a.po has no header"),
    "compiled gettext": ({"a.mo": b"\xde\x12\x04\x95\x00"}, "a.mo is damaged"),
    "xliff": ({"a.xlf": b"<xliff/>"}, "a.xlf is a file of messages of a program (XLIFF)"),
    "texts by key": (
        {"a.json": json.dumps(OTHER_TEXTS, indent=2).encode(), "b.json": json.dumps(OTHER_TEXTS, indent=2).encode()},
        "a.json is a JSON document, such as the texts of a program by key",
    ),
    "json array": ({"a.json": b'[{"en": "x", "fa": "y"}]'}, "a.json is one JSON array"),
    "no segments": (
        {"a.tmx": tmx(SOME).replace(b"seg>", b"text>")},
        "a.tmx: no unit has English and Persian text in `<seg>`; its languages: en-US, fa-IR",
    ),
    "no Persian": (
        {"a.tsv": table([(f"s-{number}", source, "en") for number, (source, _) in enumerate(SOME)])},
        "the Persian side is no Persian: 0 of its first 5 texts have Arabic-script letters",
    ),
    "all dropped": ({"a.tsv": table([("7", "12:30", "۱۲:۳۰", "x")])}, "English is read from column"),
    "truncated": ({"a.tsv.gz": gzip.compress(table(SOME))[:-9]}, "a.tsv.gz is damaged or truncated"),
    "unequal": ({"a.en": english(SOME), "a.fa": persian(SOME[:4])}, "a.en has 5 lines, "),
    "swapped": ({"a.txt": persian(SOME), "b.txt": english(SOME)}, "the two sides are swapped: 5 of the first 5 pairs"),
    "old encoding": (
        {"a.en": english(SOME), "a.fa": persian([("", "در اتاق")] * 5).decode().encode("windows-1256")},
        "a.fa, line 1: not UTF-8",
    ),
}


def prepare(folder: Path, files: dict[str, bytes]) -> Finished:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    settings = (f"run.directory={folder}/run", f"corpus.prepared_directory={folder}/prepared")
    return translator("prepare", "--corpus", *(folder / name for name in files), "--set", *settings)


@pytest.mark.parametrize("fault", REFUSED)
def test_a_corpus_that_cannot_be_read_is_refused_with_its_name_and_its_fault(tmp_path: Path, fault: str) -> None:
    files, message = REFUSED[fault]
    result = prepare(tmp_path, files)
    assert (result.code, result.out) == (2, "")
    assert message in result.err.splitlines()[-1]


def test_a_corpus_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    result = translator("prepare", "--corpus", tmp_path / "none.tsv")
    assert result.code == 2
    assert "none.tsv` cannot be found" in result.err


def test_a_message_about_a_table_names_the_columns_that_were_read(tmp_path: Path) -> None:
    files, _ = REFUSED["no Persian"]
    assert "; English is read from column 1, Persian from column 2; not read: 3" in prepare(tmp_path, files).err


def test_another_corpus_of_the_same_name_has_a_recipe_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, pairs in (("first", all_pairs()[:150]), ("second", all_pairs()[150:300])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.tsv").write_bytes(table(pairs))
    made = [translator("prepare", "--corpus", tmp_path / folder / "mine.tsv").out for folder in ("first", "second")]
    assert "runs/mine.yaml: a recipe for 150 pairs" in made[0]
    assert "runs/mine-2.yaml: a recipe for 150 pairs" in made[1]


# --- test sets ---

LEAKING = """
run: {{directory: "{folder}/run"}}
corpus:
  sources: [{{name: mine, path: "{folder}/mine.tsv", use: train}}, {{name: held, path: "{folder}/held.tsv", use: test}}]
  prepared_directory: "{folder}/prepared"
subword: {{model_type: char, vocabulary_size: 60}}
"""


def test_training_text_shares_no_side_with_the_test_text(tmp_path: Path) -> None:
    pairs = all_pairs()[:100]
    held = [(pairs[0][0], "این متن دیگری است."), ("I am someone else today.", pairs[1][1])]
    (tmp_path / "mine.tsv").write_bytes(table(pairs))
    (tmp_path / "held.tsv").write_bytes(table(held))
    (tmp_path / "leaking.yaml").write_text(LEAKING.format(folder=tmp_path), encoding="utf-8")
    result = translator("prepare", "--config", tmp_path / "leaking.yaml")
    assert result.code == 0, result.err
    counts = {line.split()[0]: line.split()[1] for line in result.lines if line.startswith("  train")}
    assert counts == {"train": "98"}
    assert "dropped: source_held_out    1 " in result.out
    assert "dropped: target_held_out    1 " in result.out


@pytest.mark.parametrize("mark", [".", "؟"])
def test_tokenized_references_of_a_test_set_are_told(small_copy: Path, tmp_path: Path, mark: str) -> None:
    pairs = [(source, f"{target[:-1]} {mark}") for source, target in SOME]
    (tmp_path / "tokenized.tsv").write_bytes(table(pairs))
    test_set = tmp_path / "tokenized.tsv"
    result = translator("evaluate", "--run", small_copy, "--test-set", test_set, "--no-report")
    assert result.code == 0, result.err
    assert "test set `tokenized`: the references look tokenized: 5 of 5 sentences end in a space" in result.err


# --- files as people have them ---


@pytest.mark.skipif(not INPUTS.exists(), reason="needs ../shared/inputs")
@pytest.mark.parametrize(
    ("corpus", "pairs"),
    [
        ("units.tmx", 4),
        ("control.tmx", 5),
        ("blankline.tsv", 5),
        ("onetab.tsv", 3),
        ("tail.en:tail.fa", 5),
        ("pes.tsv", 5),
        ("memory.zip", 5),
        ("table.zip", 5),
        ("argos.zip", 5),
        ("thirty.tsv", 30),
        ("entities.tsv", 5),
        ("ids.tsv", 8),
        ("study.csv", 8),
        ("packed.tsv.gz", 8),
    ],
)
def test_a_corpus_as_people_have_it_is_read(
    corpus: str, pairs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [INPUTS / name for name in corpus.split(":")]
    result = translator("prepare", "--corpus", *files, "--set", "corpus.split.validation=0", "corpus.split.test=0")
    assert result.code == 0, result.err
    (counts,) = [line.split()[1:] for line in result.lines if line.startswith("out ")]
    assert counts[0] == str(pairs)


@pytest.mark.skipif(not INPUTS.exists(), reason="needs ../shared/inputs")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ui.en.json", "jq -cs"),
        ("film.srt", "; write its texts"),
        ("tail.en:half-1256.fa", "line 3: not UTF-8"),
    ],
)
def test_a_file_as_people_have_it_that_is_no_corpus_is_refused(name: str, message: str) -> None:
    result = translator("prepare", "--corpus", *(INPUTS / part for part in name.split(":")))
    assert result.code == 2
    assert message in result.err

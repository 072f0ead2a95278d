"""TMX files, the corpora that `--corpus` names, and the recipe that is chosen for them."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import pytest
from corpus.corpora import ENGLISH, PAIRS, PERSIAN, TABLE, complaint, folder_of, one_file
from doc_examples import ROOT

from translator.config import Config, SourceConfig, load_config
from translator.corpus.lines import Pair
from translator.corpus.reading import read_pairs
from translator.corpus.sources import corpora_in_arguments
from translator.data import DataHandler
from translator.errors import InputError, SubwordError
from translator.recipes.corpus_recipe import CorpusSize, choose, find_recipe

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" datatype="plaintext"/><body>
<tu><note>first</note>
 <tuv xml:lang="EN-us"><seg>Press <bpt>&lt;b&gt;</bpt>Save<ept>&lt;/b&gt;</ept> &amp; <hi>close</hi>.</seg></tuv>
 <tuv xml:lang="fa_IR"><prop>x</prop><seg>ذخیره
کنید.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Alone.</seg></tuv><tuv xml:lang="de"><seg>Allein.</seg></tuv></tu>
<tu><tuv lang="fa"><seg>دو.</seg></tuv><tuv lang="en"><seg>Two.</seg></tuv></tu>
</body></tmx>"""


def test_tmx_pairs_are_read_in_either_language_order(tmp_path: Path) -> None:
    expected = [
        Pair(4, "Press Save & close.", "ذخیره کنید."),
        Pair(8, "Alone.", "", "missing_language"),
        Pair(9, "Two.", "دو."),
    ]
    for name, content in (("m.tmx", TMX.encode()), ("m.tmx.gz", gzip.compress(TMX.encode()))):
        assert list(read_pairs(one_file(tmp_path / name, content))) == expected
    utf16 = TMX.replace("UTF-8", "UTF-16").encode("utf-16")
    assert list(read_pairs(folder_of(tmp_path / "folder", {"m.tmx": utf16}))) == expected
    arabic = TMX.replace("UTF-8", "windows-1256").replace("ی", "ي").encode("windows-1256")
    assert list(read_pairs(one_file(tmp_path / "m.tmx", arabic)))[2] == expected[2]
    commented = TMX.replace("<tu><tuv xml:lang", "<!-- <tu>\n</tu> --><tu><tuv xml:lang")
    assert [pair.line for pair in read_pairs(one_file(tmp_path / "m.tmx", commented.encode()))] == [4, 9, 10]


def test_units_in_a_long_comment_of_a_tmx_are_not_read(tmp_path: Path) -> None:
    unit = TMX[TMX.index("<tu><tuv lang") : TMX.index("</body>")]
    commented = TMX.replace("<tu><note>", f"<!-- {unit * 3000}--><tu><note>")
    assert [pair.line for pair in read_pairs(one_file(tmp_path / "m.tmx", commented.encode()))] == [3004, 3008, 3009]


def test_the_start_of_a_comment_in_a_segment_is_text(tmp_path: Path) -> None:
    written = TMX.replace("Alone.", "<![CDATA[<!-- x]]>")
    pairs = list(read_pairs(one_file(tmp_path / "m.tmx", written.encode())))
    assert [pair.source for pair in pairs] == ["Press Save & close.", "<!-- x", "Two."]


def test_a_tmx_that_is_damaged_or_declares_entities_is_refused(tmp_path: Path) -> None:
    assert "not valid XML" in complaint(one_file(tmp_path / "m.tmx", TMX[:300].encode()))
    bomb = TMX.replace('SYSTEM "tmx14.dtd"', '[<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]').replace("Two", "&b;")
    assert "declares the entity `a`" in complaint(one_file(tmp_path / "m.tmx", bomb.encode()))
    odd = TMX.replace("UTF-8", "nosuch")
    assert "not valid XML" in complaint(one_file(tmp_path / "m.tmx", odd.encode()))
    assert "its languages: EN-us, de, de_IR, en" in complaint(
        one_file(tmp_path / "m.tmx", TMX.replace("fa", "de").encode())
    )


def segments_of(english: str, persian: str, folder: Path) -> tuple[str, str]:
    """Return the texts of a unit whose segments are these pieces of XML."""
    unit = f'<tu><tuv xml:lang="EN-US"><seg>{english}</seg></tuv><tuv xml:lang="fa"><seg>{persian}</seg></tuv></tu>'
    document = f"<tmx><body>{unit}</body></tmx>"
    (pair,) = read_pairs(one_file(folder / "m.tmx", document.encode()))
    return pair.source, pair.target


@pytest.mark.parametrize(
    ("english", "text"),
    [
        ("One<ph>&lt;br/&gt;</ph>two", "One two"),
        ("One.<it pos='begin'>x</it><ut>y</ut>Two", "One. Two"),
        ("See <bpt i='1'>(</bpt>page 2<ept i='1'>)</ept>.", "See page 2."),
        ("A<ph>x<sub>title</sub></ph> <hi>b</hi>c", "A bc"),
        ("two\n    lines\r\nand\tmore ", "two lines and more"),
        ("a&nbsp;b &lt;c&gt; &amp;amp; d&eacute;j&agrave;", "a b <c> &amp; déjà"),
        ("<![CDATA[a <b> c]]>", "a <b> c"),
    ],
)
def test_codes_entities_and_line_ends_in_a_segment_become_plain_text(english: str, text: str, tmp_path: Path) -> None:
    assert segments_of(english, "می&zwnj;خواهم", tmp_path) == (text, "می\u200cخواهم")


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (b"<tu><tuv xml:lang='en'><seg>Two &#x1F; signs</seg></tuv></tu>", "bad_row"),
        (b"<tu><tuv xml:lang='en'><seg>\x0c</seg></tuv></tu>", "bad_row"),
        (b"<tu><tuv><seg>no end</tu>", "bad_row"),
        (b"<tu><tuv><seg>&nosuch;</seg></tuv></tu>", "bad_row"),
        (b"<tu><tuv><seg>caf\xe9</seg></tuv></tu>", "invalid_utf8"),
    ],
)
def test_a_unit_that_is_not_well_formed_costs_only_itself(bad: bytes, rule: str, tmp_path: Path) -> None:
    content = TMX.encode().replace(b"<tu><tuv lang", bad + b"\n<tu><tuv lang")
    source = one_file(tmp_path / "m.tmx", content, invalid_utf8="drop")
    for block in (5, 100, 1 << 17):
        with mock.patch("translator.corpus.compression.BLOCK", block):
            found = [(pair.line, pair.defect) for pair in read_pairs(source)]
        assert found == [(4, None), (8, "missing_language"), (9, rule), (10, None)]


def test_corpus_arguments_become_uniquely_named_sources(tmp_path: Path) -> None:
    files = {"my.en": ENGLISH, "my.fa": PERSIAN, "my.tsv": TABLE, "b.tsv": TABLE}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    en, fa, table, other = (str(tmp_path / name) for name in files)
    sides, swapped = corpora_in_arguments([[en, fa]]), corpora_in_arguments([[fa, en]])
    assert sides == [SourceConfig(name="my", source_path=en, target_path=fa)] == swapped
    assert [one.name for one in corpora_in_arguments([[en, fa], [table, other]])] == ["my", "my-2", "b"]
    assert [pair for one in corpora_in_arguments([[table, other]]) for pair in read_pairs(one)] == PAIRS * 2
    (tmp_path / "my-2.tsv").write_bytes(TABLE)
    named = corpora_in_arguments([[table, table, str(tmp_path / "my-2.tsv")]])
    assert [one.name for one in named] == ["my", "my-2", "my-2-2"]
    for paths, message in (([en, str(tmp_path / "no.fa")], "cannot be found"), ([en], "one side of a corpus")):
        with pytest.raises(InputError, match=message):
            corpora_in_arguments([paths])
    with pytest.raises(InputError, match="two text files make one corpus"):
        corpora_in_arguments([[en, fa, str(tmp_path / "my.en")]])


@pytest.mark.parametrize("gpu", [False, True])
def test_chosen_model_and_training_sizes_grow_with_the_corpus(gpu: bool) -> None:
    sizes = [
        {key: value for key, value, _ in choose(CorpusSize(n, 14 * n, 3 * n), gpu=gpu)}
        for n in (500, 3000, 70_000, 10**6)
    ]
    for key in ("subword.vocabulary_size", "model.d_model", "training.max_steps"):
        values = [float(one[key]) for one in sizes]
        assert values == sorted(values) and values[0] < values[-1], key
    if not gpu:
        tuned = load_config("cpu-small")
        for key, value in sizes[2].items():
            section, name = key.split(".")
            assert value == pytest.approx(getattr(getattr(tuned, section), name), rel=0.1), key


@pytest.mark.parametrize("gpu", [False, True])
def test_recipe_is_written_once_reused_and_not_shared_between_corpora(
    tmp_path: Path, gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    corpora = [[SourceConfig(name="my", path=str(folder / "my.tsv"))] for folder in (tmp_path, tmp_path / "a")]
    for corpus in corpora:
        Path(str(corpus[0].path)).write_bytes(TABLE * 300)
    runs = tmp_path / "runs"
    file, lines = find_recipe(runs, corpora[0], gpu=gpu)
    config = load_config(file)
    assert file == runs / "my.yaml" and config.run.directory == str(runs / "my")
    assert list(config.corpus.sources) == corpora[0] and config.model.d_model == (256 if gpu else 128)
    assert "900 pairs, 1.0 English words each" in lines[0] and any("model.dropout" in line for line in lines)
    file.write_text(file.read_text(encoding="utf-8").replace("dropout: 0.3", "dropout: 0.4"), encoding="utf-8")
    again, (line,) = find_recipe(runs, corpora[0], gpu=gpu)
    assert again == file and load_config(again).model.dropout == 0.4 and "exists and is reused" in line
    assert find_recipe(runs, corpora[1], gpu=gpu)[0] == runs / "my-2.yaml"
    reverse, _ = find_recipe(runs, corpora[0], gpu=gpu, direction="fa-en")
    assert reverse == runs / "my-3.yaml" and load_config(reverse).corpus.direction == "fa-en"
    (runs / "my-4").mkdir()
    (tmp_path / "a" / "my.tsv").rename(tmp_path / "a" / "their.tsv")
    third = [SourceConfig(name="my", path=str(tmp_path / "a" / "their.tsv"))]
    assert find_recipe(runs, third, gpu=gpu)[0] == runs / "my-5.yaml"


def prepared_recipe(folder: Path, rows: Sequence[str], *, gpu: bool = False) -> Config:
    """Return the recipe for a table; its corpus and its models are prepared in `folder`."""
    source = one_file(folder / "my.tsv", "".join(rows).encode())
    overrides = [f"corpus.prepared_directory={folder}/prepared"]
    recipe, _ = find_recipe(folder / "runs", [source], gpu=gpu, overrides=overrides)
    return load_config(recipe, overrides)


SAMPLE = (ROOT / "data" / "sample" / "train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.mark.parametrize(("pairs", "gpu"), [(5, True), (30, False), (600, False)])
def test_chosen_vocabulary_suits_uniform_text(tmp_path: Path, pairs: int, gpu: bool) -> None:
    config = prepared_recipe(tmp_path, SAMPLE[:pairs], gpu=gpu)
    assert DataHandler(config).prepare().corpus.count("train", "text") > 0.9 * pairs - 10
    assert not config.subword.joint


@pytest.mark.parametrize("poor_side", [0, 1])
def test_a_side_with_few_words_shares_a_model_with_the_other(tmp_path: Path, poor_side: int) -> None:
    yes, no = (("yes", "no"), ("بله", "نه"))[poor_side]
    rows = []
    for number, row in enumerate(SAMPLE[:40]):
        sides = row.rstrip("\n").split("\t")
        sides[poor_side] = f"{number:06b}".replace("1", f"{yes} ").replace("0", f"{no} ").strip()
        rows.append("\t".join(sides) + "\n")
    assert prepared_recipe(tmp_path, rows).subword.joint


def test_a_vocabulary_size_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    source = one_file(tmp_path / "my.tsv", "".join(SAMPLE[:30]).encode())
    overrides = [f"corpus.prepared_directory={tmp_path}/prepared", "subword.vocabulary_size=5000"]
    with pytest.raises(SubwordError, match=r"5000 is more than .* the largest value that suits both models is"):
        find_recipe(tmp_path / "runs", [source], gpu=False, overrides=overrides)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("gpu", [False, True])
def test_a_written_recipe_copies_numbers(tmp_path: Path, gpu: bool) -> None:
    config = prepared_recipe(tmp_path, SAMPLE[:30], gpu=gpu)
    assert (config.subword.placeholders, config.training.augmentation.copies) == (8, 0.1)

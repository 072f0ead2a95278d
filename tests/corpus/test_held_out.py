"""Test sets: pairs without text are left out, a run keeps the text as read, and damaged text is refused."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpora import tsv
from tests.support.toy_corpora import write_pairs
from translator.config import CorpusConfig, FilterConfig, NormalizationConfig, SplitConfig, parse_config
from translator.corpus.held_out import (
    HeldOutSet,
    held_out_argument,
    held_out_of_run,
    held_out_set,
    left_out_note,
    read_held_out,
    read_held_out_folder,
    write_held_out,
)
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepare import prepare_corpus
from translator.errors import CorpusError, InputError, RunError

NORMALIZER = Normalizer(NormalizationConfig())


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_test_set_and_its_reported_count_leave_out_pairs_with_a_blank_side(tmp_path: Path) -> None:
    # A blank side leaves a pair out; no filter of training text does.
    pairs = [("Yes", "بله"), ("\u200b", "نه"), ("No", " "), ("English", "English"), ("a" * 3000, "ب")]
    held_out = tsv(tmp_path / "held.tsv", pairs)
    test_set = read_held_out([held_out], NORMALIZER)
    assert test_set.sources == ("Yes", "English", "a" * 3000)
    assert test_set.left_out == (2, 3)

    training_pairs = [(f"line number {n}", f"خط شمارهٔ {n}") for n in range(9)]
    train = tsv(tmp_path / "train.tsv", training_pairs, use="train")
    config = CorpusConfig(sources=(train,), prepared_directory=str(tmp_path / "prepared"))
    report = prepare_corpus(config, [held_out]).report
    assert report.test_sets[0].out == len(test_set.sources)


def test_several_reference_files_are_read_beside_one_source_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.en", "Yes.", "No.", "Perhaps.")
    write_lines(tmp_path / "a.fa", "بله.", "نه.", "شاید.")
    write_lines(tmp_path / "b.fa", "آری.", " ", "گویا.")
    argument = f"x={tmp_path}/a.en:{tmp_path}/a.fa:{tmp_path}/b.fa"
    test_set = read_held_out(held_out_argument(argument), NORMALIZER)
    assert test_set.references == (("بله.", "آری."), ("نه.",), ("شاید.", "گویا.")), "no reference is blank"
    assert test_set.left_out == ()


BLANK = st.sampled_from(["", " ", "\u200c", "\ufeff"])
LINES = st.integers(1, 3).flatmap(
    lambda count: st.lists(st.tuples(BLANK | st.just("Yes."), st.lists(BLANK | st.just("بله."), min_size=count)))
)


@given(LINES)
def test_each_line_is_scored_or_left_out(lines: list[tuple[str, list[str]]]) -> None:
    """A complete last line spares the error for a set without any."""
    lines = [*lines, ("Yes.", ["بله."])]
    test_set = held_out_set("news", lines, NORMALIZER)
    assert len(test_set.sources) + len(test_set.left_out) == len(lines)
    for number, (source, references) in enumerate(lines, start=1):
        is_complete = source == "Yes." and "بله." in references
        assert (number in test_set.left_out) != is_complete
    references_in_set = set(itertools.chain.from_iterable(test_set.references))
    assert references_in_set == {"بله."}, "no reference is blank"


@pytest.mark.parametrize(
    ("left_out", "note"),
    [
        ((), ""),
        ((3,), "1 of 5 left out (line 3)"),
        ((1, 6), "2 of 6 left out (lines 1, 6)"),
        (range(1, 13), "12 of 16 left out (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more)"),
    ],
)
def test_the_note_names_the_first_lines_left_out(left_out: Sequence[int], note: str) -> None:
    assert left_out_note(4, left_out) == note


def test_mistakes_in_a_test_set_argument_are_reported(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.en", "Yes.", "No.", "Perhaps.")
    write_lines(tmp_path / "a.fa", "بله.", "نه.", "شاید.")
    write_lines(tmp_path / "b.fa", "بله.", "نه.")
    write_lines(tmp_path / "empty.tsv")
    for argument, problem in {
        "{0}/nowhere.tsv": "cannot be found",
        "{0}/a.en:{0}/nowhere.fa": "cannot be found",
        "x=": "cannot be found",
        "": "cannot be found",
        "my set={0}/empty.tsv": "`my set` cannot be the name of a test set",
        "{0}/a.en:{0}/b.fa": r"a\.en has 3 lines, .*b\.fa has 2",
        "{0}/a.en:{0}/a.fa:{0}/b.fa": r"a\.en has 3 lines, .*b\.fa has 2",
        "{0}/empty.tsv": "it has no lines",
    }.items():
        with pytest.raises((InputError, CorpusError), match=problem):
            read_held_out(held_out_argument(argument.format(tmp_path)), NORMALIZER)


def test_held_out_of_run_gives_sources_test_sets_and_a_validation_sample(tmp_path: Path) -> None:
    def pairs(word: str) -> list[tuple[str, str]]:
        return [(f"{word} number {n}", f"{word} شمارهٔ {n}") for n in range(40)]

    # Two sources with a split and a test source, of which one pair has a blank side.
    filters = FilterConfig(near_duplicates=None, min_target_script=None, max_untranslated=None)
    corpus = prepare_corpus(
        CorpusConfig(
            sources=(
                *(tsv(tmp_path / f"{name}.tsv", pairs(name)) for name in "ab"),
                tsv(tmp_path / "c.tsv", [("c", "پ"), ("c", " "), ("c d", "پ ت")], use="test"),
            ),
            split=SplitConfig(validation=10, test=5),
            filters=filters,
            prepared_directory=str(tmp_path / "prepared"),
        )
    )

    # A run on this corpus: with an extra test set, and with four sentences for validation.
    news = write_pairs(tmp_path / "news.tsv", pairs("news"))
    recipe = (
        "run: {directory: run}\ncorpus: {sources: [{name: a, path: gone.tsv}]}\ntraining: {validation_sentences: 4}"
    )
    config = parse_config(recipe, "recipe", [f"evaluation.test_sets=[{{name: news, path: '{news}'}}]"])

    test_sets = held_out_of_run(config, corpus, "test", NORMALIZER)
    assert [test_set.name for test_set in test_sets] == ["a", "b", "c", "news"]
    assert [len(test_set.sources) for test_set in test_sets] == [5, 5, 2, 40]
    assert [test_set.left_out for test_set in test_sets] == [(), (), (2,), ()]
    for test_set in test_sets:
        assert set(test_set.origins) == {test_set.name}

    (sample,) = held_out_of_run(config, corpus, "validation", NORMALIZER)
    assert sample.name == "validation"
    assert sample.origins == ("a", "a", "b", "b")
    assert len(sample.references) == 4


SETS = [
    HeldOutSet("a", ("Tab\there.", "Line\u2028end."), (("تب\t.", "دو"), ("\u200cخط.", "سه")), ("x", "y")),
    HeldOutSet("b.c", ("No.",), (("نه.",),), ("b.c",), left_out=(1, 3)),
]


def test_held_out_text_saved_in_a_run_reads_back_unchanged(tmp_path: Path) -> None:
    write_held_out(tmp_path / "held_out", "test", SETS)
    write_held_out(tmp_path / "held_out", "validation", [])
    assert read_held_out_folder(tmp_path / "held_out", "test") == SETS
    assert read_held_out_folder(tmp_path / "held_out", "validation") == []


@pytest.mark.parametrize("damage", ["emptied", "cut", "another letter"])
def test_damaged_held_out_text_is_refused(tmp_path: Path, damage: str) -> None:
    write_held_out(tmp_path, "test", SETS)
    file = tmp_path / "test.json"
    content = file.read_bytes()
    damaged = {"emptied": b"", "cut": content[:-20], "another letter": content.replace(b"No.", b"Na.")}
    file.write_bytes(damaged[damage])
    message = rf"the test text of the run, {file}, is damaged.*resume training, which writes it"
    with pytest.raises(RunError, match=message):
        read_held_out_folder(tmp_path, "test")
    file.unlink()
    with pytest.raises(RunError, match="does not exist; copy it"):
        read_held_out_folder(tmp_path, "test")

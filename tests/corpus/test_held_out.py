"""Test sets: pairs without text are left out, a run keeps the text as read, and damaged text is refused."""

from pathlib import Path

import pytest

from tests.support.toy_corpora import write_pairs
from translator.config import NormalizationConfig, parse_config
from translator.corpus.held_out import (
    HeldOutSet,
    held_out_argument,
    held_out_of_run,
    left_out_note,
    read_held_out,
    read_held_out_folder,
    write_held_out,
)
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepare import prepare_corpus
from translator.errors import RunError

NORMALIZER = Normalizer(NormalizationConfig())
RECIPE = """
run: {{directory: run}}
corpus:
  sources:
    - {{name: a, path: "{folder}/a.tsv"}}
    - {{name: b, path: "{folder}/b.tsv"}}
    - {{name: c, path: "{folder}/c.tsv", use: test}}
  split: {{validation: 10, test: 5}}
  filters: {{near_duplicates: null, min_target_script: null}}
  prepared_directory: "{folder}/prepared"
training: {{validation_sentences: 4}}
evaluation: {{test_sets: [{{name: news, path: "{folder}/news.tsv"}}]}}
"""


def test_the_note_names_the_first_lines_left_out() -> None:
    assert left_out_note(4, (1, 6)) == "2 of 6 left out (lines 1, 6)"
    assert left_out_note(4, range(1, 13)) == "12 of 16 left out (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)"


def test_a_line_that_only_a_later_reference_has_is_left_out_by_its_number(tmp_path: Path) -> None:
    for name, text in {"x.en": "Yes.\n\n", "x.fa": "بله.\n\n", "y.fa": "آری.\nنه.\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    test_set = read_held_out(held_out_argument(f"{tmp_path}/x.en:{tmp_path}/x.fa:{tmp_path}/y.fa"), NORMALIZER)
    assert (test_set.references, test_set.left_out) == ((("بله.", "آری."),), (2,))


def test_held_out_of_run_gives_sources_test_sets_and_a_validation_sample(tmp_path: Path) -> None:
    # Two sources with a split, a test source, of which one pair has a blank side, and an extra test set.
    for name in ("a", "b"):
        write_pairs(tmp_path / f"{name}.tsv", [(f"{name} number {n}", f"{name} شمارهٔ {n}") for n in range(40)])
    write_pairs(tmp_path / "c.tsv", [("c", "پ"), ("c", " "), ("c d", "پ ت")])
    write_pairs(tmp_path / "news.tsv", [("news", "خبر")])
    config = parse_config(RECIPE.format(folder=tmp_path), "recipe")
    corpus = prepare_corpus(config.corpus)
    test_sets = held_out_of_run(config, corpus, "test", NORMALIZER)
    assert [(text.name, len(text.sources), text.left_out) for text in test_sets] == [
        *(("a", 5, ()), ("b", 5, ()), ("c", 2, (2,)), ("news", 1, ()))
    ]
    (sample,) = held_out_of_run(config, corpus, "validation", NORMALIZER)
    assert (sample.name, sample.origins, len(sample.references)) == ("validation", ("a", "a", "b", "b"), 4)


def test_held_out_text_of_a_run_reads_back_unchanged_unless_it_is_damaged(tmp_path: Path) -> None:
    sets = [
        HeldOutSet("a", ("Tab\there.", "Line\u2028end."), (("تب\t.", "دو"), ("\u200cخط.", "سه")), ("x", "y")),
        HeldOutSet("b.c", ("No.",), (("نه.",),), ("b.c",), left_out=(1, 3)),
    ]
    write_held_out(tmp_path, "test", sets)
    assert read_held_out_folder(tmp_path, "test") == sets
    file = tmp_path / "test.json"
    file.write_bytes(file.read_bytes().replace(b"No.", b"Na."))
    with pytest.raises(RunError, match=rf"the test text of the run, {file}, is damaged.*resume training"):
        read_held_out_folder(tmp_path, "test")
    with pytest.raises(RunError, match="does not exist; copy it"):
        read_held_out_folder(tmp_path, "validation")

"""Runs and text are made from a run: fine-tune, back-translate, distill and average."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from sacrebleu.metrics.chrf import CHRF

from tests.fence.files import contents, read_json, read_lines, scores_of, write_lines
from tests.fence.short_runs import FEW_STEPS, STUDENT, short
from tests.fence.small_language import all_pairs, counted, nearest_to, statement
from tests.support.command_line import Finished, succeed

BOOKS = [pair for pair in all_pairs() if "book" in pair[0]]
NEW = [(english.replace("book", "lamp"), persian.replace("کتاب", "چراغ ")) for english, persian in BOOKS]
"""Sentences about a lamp, with a space too many in each Persian one."""
MORE = [counted("garden", number, "at home") for number in (10_001, 10_002, 10_003)]
TAG = "\ue010"  # begins each English line that a model has written


@dataclass(frozen=True)
class Derived:
    """What a command has printed and left."""

    result: Finished
    folder: Path  # the new run, or the folder of the text

    @property
    def recipe(self) -> dict[str, Any]:
        recipe: dict[str, Any] = yaml.safe_load(self.folder.with_suffix(".yaml").read_text(encoding="utf-8"))
        return recipe

    def lines(self, name: str) -> list[str]:
        return read_lines(self.folder / name)


def raw_scores(folder: Path) -> dict[tuple[str, str], float]:
    """Return the raw scores in a folder, by test set and metric."""
    return {(entry["test_set"], entry["metric"]): entry["score"] for entry in scores_of(folder, normalization="raw")}


# --- fine-tune ---


@pytest.fixture(scope="module")
def tuned(small_run: Path, folder: Path) -> Derived:
    """The small run after a few steps on sentences about a lamp."""
    new = write_lines(folder / "lamp.tsv", [f"{english}\t{persian}" for english, persian in NEW])
    output = folder / "tuned"
    result = succeed("fine-tune", "--run", small_run, "--corpus", new, "--output", output, "--set", *FEW_STEPS)
    return Derived(result=result, folder=output)


def test_fine_tuning_starts_from_what_the_run_has_learned(tuned: Derived) -> None:
    assert raw_scores(tuned.folder / "evaluation")["small", "bleu"] > 90, "nothing is learned in four steps"


def test_fine_tuning_compares_both_models_on_the_old_and_the_new_test_text(tuned: Derived) -> None:
    before = raw_scores(tuned.folder / "evaluation" / "small")
    after = raw_scores(tuned.folder / "evaluation")
    for test_set in ("small", "lamp"):
        for metric in ("bleu", "chrf"):
            old, new = before[test_set, metric], after[test_set, metric]
            numbers = rf"{old:.2f}\s+{new:.2f}\s+{re.escape(f'{new - old:+.2f}')}"
            assert re.search(rf"^{test_set} +{metric} +{numbers} ", tuned.result.out, re.MULTILINE)


def test_the_new_run_is_tested_on_the_test_text_of_the_old_one(small_run: Path, tuned: Derived) -> None:
    for name in ("small/source.txt", "small/reference.txt"):
        assert tuned.lines(f"evaluation/{name}") == read_lines(small_run / "evaluation" / name)


def test_the_text_that_tests_is_not_trained_on(tuned: Derived) -> None:
    tested = tuned.lines("evaluation/lamp/source.txt")
    assert len(tested) == len(NEW) // 10
    assert set(tested) < {english for english, _ in NEW}
    assert "was trained on" not in tuned.result.err


def test_the_new_references_are_as_the_user_wrote_them(tuned: Derived) -> None:
    assert set(tuned.lines("evaluation/lamp/reference.txt")) < {persian for _, persian in NEW}


def test_the_evaluation_of_the_old_run_stays_as_it_was(small_run: Path, tuned: Derived) -> None:
    assert {key[0] for key in raw_scores(small_run / "evaluation")} == {"small"}
    assert not list((small_run / "evaluation").glob("lamp*"))


def test_four_fifths_of_an_epoch_are_old_text(tuned: Derived) -> None:
    mixture = tuned.result.err.partition("mixture of an epoch\n")[2]
    shares = re.findall(r"^(\w+) +\d+ +\S+ +(0\.\d+) ", mixture, re.MULTILINE)
    assert dict(shares) == {"lamp": "0.2", "small": "0.8"}


def test_the_recipe_of_a_fine_tuning_keeps_the_model_and_lowers_the_learning_rate(
    small_run: Path, tuned: Derived
) -> None:
    old = yaml.safe_load((small_run / "config.yaml").read_text(encoding="utf-8"))
    new = tuned.recipe
    assert old["training"]["learning_rate"] == 8e-3
    assert new["training"]["learning_rate"] == 7e-4, "that of configs/fine-tune.yaml"
    assert new["training"]["initialize_from"] == new["subword"]["models_from"] == str(small_run.resolve())
    for key in ("d_model", "heads", "encoder_layers", "decoder_layers", "feed_forward"):
        assert new["model"][key] == old["model"][key]
    assert new["search"] == old["search"]


# --- average ---


def test_an_averaged_checkpoint_translates(tuned: Derived) -> None:
    result = succeed("average", "--run", tuned.folder, "--count", "2")
    assert "the mean of the weights of steps 2, 4" in result.out
    english, persian = statement("garden", "new")
    assert succeed("translate", "--run", tuned.folder, "--checkpoint", "averaged", english).lines == [persian]


# --- back-translate ---


PERSIAN = [persian for _, persian in all_pairs()[:20]]


@pytest.fixture(scope="module")
def back_translated(reverse_run: Path, folder: Path) -> Derived:
    text = write_lines(folder / "persian.txt", [*PERSIAN[:10], "", PERSIAN[0], *PERSIAN[10:]])
    text.write_bytes("در باز است.\n".encode("cp1256") + text.read_bytes())
    output = folder / "back"
    result = succeed("back-translate", "--run", reverse_run, "--monolingual", text, "--output", output)
    return Derived(result=result, folder=output)


def test_back_translation_translates_each_distinct_line(back_translated: Derived, reverse_run: Path) -> None:
    counts = re.search("Persian lines: (.*)", back_translated.result.out)
    assert counts is not None
    assert set(counts[1].split(", ")) == {"kept 20", "empty 1", "repeated 1", "not UTF-8 1"}
    assert "persian.txt: 1 line is not UTF-8 and left out (1)" in back_translated.result.err
    assert back_translated.lines("monolingual.fa") == PERSIAN
    alone = succeed("translate", "--run", reverse_run, PERSIAN[2]).lines
    assert [back_translated.lines("translated.en")[2]] == alone


def test_back_translated_pairs_are_aligned_and_tagged(back_translated: Derived) -> None:
    translations = zip(back_translated.lines("translated.en"), back_translated.lines("monolingual.fa"), strict=True)
    made = {(f"{TAG} {english}", persian) for english, persian in translations}
    pairs = list(zip(back_translated.lines("synthetic.en"), back_translated.lines("synthetic.fa"), strict=True))
    assert pairs
    assert set(pairs) <= made
    assert f"back-translated pairs: kept {len(pairs)}" in back_translated.result.out


def test_other_text_is_translated_anew(reverse_run: Path, folder: Path) -> None:
    text, output = folder / "changing.txt", folder / "changing"
    command = ("back-translate", "--run", reverse_run, "--monolingual", text, "--output", output)
    write_lines(text, PERSIAN[:6])
    succeed(*command)
    first = read_lines(output / "translated.en")
    assert "exists and is reused" in succeed(*command).out
    write_lines(text, PERSIAN[:6][::-1])
    succeed(*command)
    assert read_lines(output / "monolingual.fa") == PERSIAN[:6][::-1]
    assert read_lines(output / "translated.en") == first[::-1]


def test_a_round_trip_keeps_the_pairs_that_come_back(
    back_translated: Derived, reverse_run: Path, small_run: Path, folder: Path
) -> None:
    command = ("back-translate", "--run", reverse_run, "--monolingual", folder / "persian.txt")
    round_trip = ("--round-trip", small_run, "--min-chrf", "28", "--output", folder / "back-and-forth")
    succeed(*command, *round_trip)
    after = folder / "back-and-forth"
    scores: dict[str, float] = {}
    for again, persian in zip(read_lines(after / "round-trip.fa"), read_lines(after / "monolingual.fa"), strict=True):
        scores[persian] = CHRF().sentence_score(again, [persian]).score
    filtered = back_translated.lines("synthetic.fa")
    kept = read_lines(after / "synthetic.fa")
    assert set(kept) == {persian for persian in filtered if scores[persian] >= 28}
    assert kept != filtered


def test_back_translated_pairs_are_trained_on_beside_others(back_translated: Derived, folder: Path) -> None:
    pairs = back_translated.folder / "synthetic"
    synthetic = f"{{name: synthetic, use: train, source_path: {pairs}.en, target_path: {pairs}.fa}}"
    sources = f"corpus.sources=[{{name: small, path: {folder / 'small.tsv'}}}, {synthetic}]"
    result = succeed(*short(folder / "mixed", sources, "training.max_steps=1"))
    kept = len(back_translated.lines("synthetic.en"))
    assert re.search(rf"^train +synthetic +{kept} ", result.err, re.MULTILINE)
    succeed("translate", "--run", folder / "mixed", "The book is new.")


# --- distill ---


@pytest.fixture(scope="module")
def distillation(small_run: Path, folder: Path) -> tuple[str | Path, ...]:
    """The command that makes a student by the recipe of its teacher, with three lines of text beside the teacher's."""
    more = write_lines(folder / "more.en", [english for english, _ in MORE])
    options = ("--recipe", folder / "small.yaml", "--beam", "2", "--monolingual", more, "--output", folder / "student")
    return ("distill", "--run", small_run, *options, "--set", *STUDENT)


@pytest.fixture(scope="module")
def student(distillation: tuple[str | Path, ...], folder: Path) -> Derived:
    """A student that a few steps have taught."""
    return Derived(result=succeed(*distillation), folder=folder / "student")


def test_a_student_learns_the_translation_of_its_teacher_that_is_nearest_to_the_reference(student: Derived) -> None:
    text = student.folder.with_name("student.text")
    rows = [json.loads(line) for line in read_lines(text / "small.jsonl")]
    chosen = read_lines(text / "small.fa")
    assert len(rows) == len(chosen) == len(all_pairs()) - 60
    references = dict(all_pairs())
    firsts = []
    for row, best in zip(rows, chosen, strict=True):
        texts = [translation["text"] for translation in row["translations"]]
        assert best == nearest_to(references[row["source"]], texts)
        firsts.append(texts[0])
    assert chosen != firsts, "the nearest is not always the first"


def test_a_student_also_learns_translations_of_other_text(student: Derived) -> None:
    text = student.folder.with_name("student.text")
    assert read_lines(text / "monolingual.fa") == [persian for _, persian in MORE]
    assert re.search(r"^train +monolingual +3 ", student.result.err, re.MULTILINE)


def test_a_student_has_a_model_of_its_own(student: Derived) -> None:
    assert student.recipe["model"]["d_model"] == 32
    assert student.recipe["model"]["norm"] == "pre", "as its recipe says, unlike that of students"
    assert student.recipe["training"].get("initialize_from") is None


def test_a_student_is_exported_in_int8_and_translates(student: Derived) -> None:
    export = student.folder.with_name("student-int8")
    assert read_json(export / "export.json")["quantization"] == "int8"
    assert len(succeed("translate", "--run", export, "The book is new.").lines) == 1


def test_distillation_ends_with_the_scores_and_the_speed_of_both(student: Derived) -> None:
    before = raw_scores(student.folder.with_name("student-int8") / "evaluation" / "small")
    after = raw_scores(student.folder.with_name("student-int8") / "evaluation")
    old, new = before["small", "chrf"], after["small", "chrf"]
    assert re.search(rf"^small +chrf +{old:.2f} +{new:.2f} ", student.result.out, re.MULTILINE)
    assert re.search(r"^teacher: 0\.\d MB, \d+ sentences a second", student.result.out, re.MULTILINE)
    assert re.search(r"^student in int8: 0\.\d MB, \d+ sentences a second", student.result.out, re.MULTILINE)


def test_distilling_again_makes_what_is_missing_and_reuses_the_rest(
    student: Derived, distillation: tuple[str | Path, ...]
) -> None:
    text = student.folder.with_name("student.text")
    before = contents(text)
    (text / "small.fa").unlink()
    again = succeed(*distillation)
    assert contents(text) == before
    assert again.out.count("exists and is reused") == 4, "recipe, two texts and export"
    assert "is finished" in again.out

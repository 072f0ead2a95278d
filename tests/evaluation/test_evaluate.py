"""Whole evaluations: files written, names refused; several systems and ensembles."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_runs import run as train
from tests.support.toy_corpora import letters, write_pairs
from tests.support.untrained import add_checkpoint, untrained_run
from translator import Translator
from translator.checkpoint.averaging import average_run
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.corpus.held_out import read_held_out_folder, write_held_out
from translator.data import DataHandler
from translator.errors import InputError, RunError, StorageError
from translator.evaluation import (
    Evaluation,
    System,
    evaluate_run,
    evaluate_systems,
    saved_scores,
)
from translator.evaluation.results import saved_sets
from translator.run.folder import RunFolder

QUICK = ("evaluation.metrics=[bleu, chrf]",)


def extra_test_set(folder: Path) -> str:
    """Write an extra test set whose references differ from their normalized form; return the override with it."""
    pairs = [(word, f"{word} كتاب .") for word in letters(9, seed=5, alphabet="stuvwx")]
    path = write_pairs(folder / "extra.tsv", pairs)
    return f"evaluation.test_sets=[{{name: extra, path: {path}}}]"


def copy_of(run: RunFolder, path: Path) -> RunFolder:
    shutil.copytree(run.path, path, symlinks=True)
    return RunFolder(path)


def test_a_moved_run_is_evaluated_without_its_corpus_or_prepared_data(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(tiny(extra_test_set(tmp_path))).run
    scores = saved_scores(run)
    shutil.rmtree(tmp_path / "prepared")
    for corpus in tmp_path.glob("*.tsv"):
        corpus.unlink()
    moved = RunFolder(run.path.rename(tmp_path / "elsewhere"))
    shutil.rmtree(moved.evaluation_folder)
    monkeypatch.chdir(tmp_path.parent)
    evaluation = evaluate_run(moved)
    assert evaluation.scores == scores


def test_repeated_evaluations_agree_and_other_settings_keep_their_scores(tiny: Any) -> None:
    # 1. The same settings again.
    config = tiny(*QUICK)
    run = untrained_run(config)
    first = evaluate_run(run)
    assert evaluate_run(run) == first
    assert saved_scores(run) == first.scores

    # 2. Another search.
    beam = evaluate_run(run, overrides=["search.method=beam", "search.beam_size=2", "search.split_sentences=true"])
    assert {score.search for score in first.scores + beam.scores} == {"greedy", "beam-2-by-sentence"}
    assert saved_scores(run) == [*beam.scores, *first.scores]

    # 3. Another checkpoint.
    add_checkpoint(run, config, DataHandler(config), step=9)
    newer = evaluate_run(run)
    assert saved_scores(run) == [*newer.scores, *beam.scores, *first.scores]
    assert {score.checkpoint for score in newer.scores} == {"step-000009"}
    assert evaluate_run(run, checkpoint="5") == first


@pytest.mark.parametrize(("metric", "average"), [("bleu", "null"), ("chrf", "0.5")])
def test_evaluation_score_equals_the_validation_score_from_training(
    tiny: Any, tmp_path: Path, metric: str, average: str
) -> None:
    """For the same checkpoint and settings, to the last bit; with and without averaged weights."""
    sentences = [" ".join(word) for word in letters(200, seed=2, alphabet="abc", longest=9)]
    write_pairs(tmp_path / "toy.tsv", [(text, text) for text in sentences])
    settings = ["validate_every=15", "checkpoint_every=15", "max_steps=30", "learning_rate=0.01"]
    settings += [f"best_metric={metric}", f"ema_decay={average}"]
    data = ["corpus.split.test=0", "corpus.filters.near_duplicates=null", "search.avoid_loops=false"]
    config = tiny(*QUICK, *data, *(f"training.{setting}" for setting in settings))
    run = train(config).run
    best = load_checkpoint(find_checkpoint(run.checkpoints_folder, "best"))
    evaluation = evaluate_systems(
        [System((run,))], split="validation", overrides=["search.method=greedy"], report=False
    )
    score = next(score for score in evaluation.scores if score.metric == metric)
    assert score.score == best.state.score
    assert score.score > 0
    assert (score.sentences, score.test_set) == (config.training.validation_sentences, "validation")


def test_a_run_without_held_out_text_reports_nothing_to_evaluate(tiny: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = untrained_run(tiny("corpus.split.test=0"))
    assert evaluate_run(run) == Evaluation()
    assert "nothing to evaluate: corpus.split.test is 0 and evaluation.test_sets is empty" in caplog.text


def test_damaged_files_are_reported_before_the_model_is_loaded(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("translator.evaluation.evaluate.Translator")
    run = untrained_run(tiny())
    scores_file = run.evaluation_folder / "scores.json"
    run.evaluation_folder.write_text("in the way")
    with pytest.raises(StorageError, match="evaluation"):
        evaluate_run(run)
    run.evaluation_folder.unlink()
    run.evaluation_folder.mkdir()
    scores_file.write_text("[")
    with pytest.raises(RunError, match=r"scores\.json is damaged"):
        evaluate_run(run)
    scores_file.unlink()
    (run.held_out_folder / "test.json").write_text("{}\n")
    with pytest.raises(RunError, match="held_out"):
        evaluate_run(run)


def test_several_runs_and_checkpoints_are_compared(tiny: Any) -> None:
    """The second run's own recipe asks for beam search."""
    config = tiny(*QUICK)
    run = untrained_run(config)
    add_checkpoint(run, config, DataHandler(config), step=9)
    second_run = copy_of(run, run.path.with_name("other"))
    recipe_file = second_run.path / "config.yaml"
    recipe = recipe_file.read_text(encoding="utf-8")
    recipe_file.write_text(recipe.replace("method: greedy", "method: beam"), encoding="utf-8")
    systems = [System((run,), "best"), System((run,), "last"), System((run,), "5"), System((second_run,), "5")]
    evaluation = evaluate_systems(systems, overrides=["search.processes=1"])
    assert [(scored.system, scored.checkpoint, scored.search) for scored in evaluation.sets] == [
        ("run", "step-000009", "greedy"),
        ("run", "step-000005", "greedy"),
        ("other", "step-000005", "beam-5"),
    ], "best and last are one checkpoint here"
    assert [len(comparison.sets) for comparison in evaluation.comparisons] == [3]
    assert evaluation.report == run.evaluation_folder / "report.html"
    assert evaluation.report.is_file()
    assert {score.checkpoint for score in saved_scores(second_run)} == {"step-000005"}


@pytest.fixture
def two_runs(tiny: Any) -> tuple[RunFolder, RunFolder]:
    """Two runs, the second with an averaged checkpoint of different weights."""
    config = tiny(*QUICK)
    run = untrained_run(config)
    second_run = copy_of(run, run.path.with_name("other"))
    add_checkpoint(second_run, config, DataHandler(config), step=9)
    average_run(second_run.path, 2, "last")
    return run, second_run


def test_an_ensemble_is_evaluated_as_a_system_of_its_own(two_runs: tuple[RunFolder, RunFolder]) -> None:
    run, second_run = two_runs
    evaluation = evaluate_systems([System(two_runs)], report=False)
    (ensemble,) = evaluation.sets
    assert ensemble.system == "run+other"
    assert saved_sets(System(two_runs).folder, "run+other")
    assert saved_scores(run) == [], "the run's own scores are its own"
    sources = list(ensemble.text.sources)
    together = Translator.load([run.path, second_run.path]).translate_lines(sources)
    assert list(ensemble.hypotheses) == together
    assert together != Translator.load(run.path).translate_lines(sources)
    assert not (run.evaluation_folder / "report.html").exists()


def test_averaged_checkpoints_are_evaluated_in_the_folder_of_their_run(two_runs: tuple[RunFolder, RunFolder]) -> None:
    _, run = two_runs
    evaluation = evaluate_systems([System((run,), "averaged")], report=False)
    (averaged,) = evaluation.sets
    assert averaged.system == "other"
    assert {score.checkpoint for score in saved_scores(run)} == {averaged.checkpoint}
    translator = Translator.load(run.path, checkpoint="averaged")
    assert averaged.hypotheses == tuple(translator.translate_lines(list(averaged.text.sources)))


def test_another_text_with_the_name_of_the_test_set_of_another_run_is_refused(tiny: Any) -> None:
    run = untrained_run(tiny(*QUICK))
    second_run = copy_of(run, run.path.with_name("other"))
    text = read_held_out_folder(run.held_out_folder, "test")[0]
    changed_text = replace(text, sources=("another", *text.sources[1:]))
    write_held_out(second_run.held_out_folder, "test", [changed_text])
    with pytest.raises(InputError, match=r"another text called `toy`; .* --test-set NAME=PATH"):
        evaluate_systems([System((run,)), System((second_run,))], report=False)
    assert not run.evaluation_folder.exists()


def ensemble_folder(folder: Path, *names: str) -> Path:
    return System(tuple(RunFolder(folder / name) for name in names)).folder


def test_ensembles_of_different_runs_have_different_folders(tmp_path: Path) -> None:
    assert ensemble_folder(tmp_path, "a", "b") == ensemble_folder(tmp_path, "a", "a/../b")
    name_lists = [("b",), ("seed2/b",), ("seed3/b",), ("b+c",), ("b", "c/d")]
    folders = [ensemble_folder(tmp_path, "a", *names) for names in name_lists]
    assert len(set(folders)) == len(folders)
    assert {folder.parent for folder in folders} == {tmp_path / "a" / "evaluation"}


def test_an_unwritable_report_is_reported_before_the_model_is_loaded(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("translator.evaluation.evaluate.Translator")
    run = untrained_run(tiny())
    (tmp_path / "page" / "report.html").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"cannot write .*report\.html"):
        evaluate_systems([System((run,))], output=tmp_path / "page")

"""Whole evaluations: files written, mistakes told before the work; several systems and ensembles."""

import logging
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.tiny_recipe import draw_nothing
from tests.support.tiny_runs import run as train
from tests.support.tiny_runs import tiny_config
from tests.support.toy_corpora import write_pairs
from tests.support.untrained import untrained_run
from translator import Translator
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import find_checkpoint
from translator.corpus.held_out import write_held_out
from translator.errors import RunError, StorageError
from translator.evaluation import Evaluation, System, evaluate_systems, saved_scores
from translator.evaluation.results import saved_sets
from translator.evaluation.test_sets import warn_of_leaks
from translator.run.folder import RunFolder

JUDGE = """import sys
for hypothesis in open(sys.argv[1], encoding="utf-8"):
    print(len(hypothesis))
"""


class Trained(NamedTuple):
    """A trained run with checkpoints of steps 6 and 12, and the command in its recipe that scores translations."""

    run: RunFolder
    command: str


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "judge.py").write_text(JUDGE, encoding="utf-8")
    program = f"{shlex.join([sys.executable, str(folder / 'judge.py')])} {{hypothesis}}"
    command = f"evaluation.external_metrics=[{{name: judge, command: '{program}'}}]"
    settings = ["learning_rate=0.01", "ema_decay=0.5", "checkpoint_every=6"]
    config = tiny_config(
        folder, command, "evaluation.metrics=[bleu, chrf]", *(f"training.{setting}" for setting in settings)
    )
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        return Trained(run=train(config).run, command=command)


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> RunFolder:
    """A copy of the trained run."""
    return RunFolder(shutil.copytree(trained.run.path, tmp_path / "run", symlinks=True))


def test_a_moved_run_is_evaluated_without_its_corpus_or_prepared_data(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("translator.evaluation.evaluate.spbleu_lacks", lambda: "a model")
    extra = write_pairs(tmp_path / "extra.tsv", [("stuv wx", "xw كتاب .")])  # its normalized form is another
    settings = "evaluation.metrics=[bleu, spbleu]", f"evaluation.test_sets=[{{name: extra, path: {extra}}}]"
    run = untrained_run(tiny(*settings))
    evaluation = evaluate_systems([System((run,))])
    assert {scored.text.name for scored in evaluation.sets} == {"toy", "extra"}
    assert {score.metric for score in evaluation.scores} == {"bleu"}, "spBLEU without its model is left out"

    shutil.rmtree(tmp_path / "prepared")
    for corpus in tmp_path.glob("*.tsv"):
        corpus.unlink()
    moved = RunFolder(run.path.rename(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path.parent)
    assert evaluate_systems([System((moved,))]).scores == evaluation.scores
    with caplog.at_level(logging.INFO, logger="translator"):
        warn_of_leaks(moved, [])
    assert "is not on this disk: leaks into training are not checked" in caplog.text


def test_evaluation_score_equals_the_validation_score_from_training(run: RunFolder) -> None:
    """For the same checkpoint and settings, to the last bit."""
    best = load_checkpoint(find_checkpoint(run.checkpoints_folder, "best"))
    evaluation = evaluate_systems([System((run,))], split="validation", report=False)
    score = next(score for score in evaluation.scores if score.metric == "chrf")
    assert score.score == best.state.score
    assert score.score > 0
    assert (score.sentences, score.test_set) == (8, "validation")


def test_a_training_runs_the_commands_of_its_recipe_and_a_later_evaluation_only_those_of_its_user(
    trained: Trained, run: RunFolder
) -> None:
    scores = saved_scores(run.evaluation_folder)
    assert "judge" in {score.metric for score in scores}
    (run.evaluation_folder / "scores.json").unlink()
    assert {score.metric for score in evaluate_systems([System((run,))]).scores} == {"bleu", "chrf"}
    assert evaluate_systems([System((run,))], overrides=[trained.command]).scores == scores


def test_a_run_without_held_out_text_reports_nothing_to_evaluate(
    run: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    write_held_out(run.held_out_folder, "test", [])
    assert evaluate_systems([System((run,))]) == Evaluation()
    assert "nothing to evaluate: corpus.split.test is 0 and evaluation.test_sets is empty" in caplog.text


def test_damaged_files_are_reported_before_the_model_is_loaded(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("translator.evaluation.evaluate.Translator")
    (tmp_path / "page" / "report.html").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"cannot write .*report\.html"):
        evaluate_systems([System((run,))], output=tmp_path / "page")
    scores_file = run.evaluation_folder / "scores.json"
    scores_file.write_text("[")
    with pytest.raises(RunError, match=r"scores\.json is damaged"):
        evaluate_systems([System((run,))])
    scores_file.unlink()
    (run.held_out_folder / "test.json").write_text("{}\n")
    with pytest.raises(RunError, match="held_out"):
        evaluate_systems([System((run,))])


@pytest.fixture
def two_runs(run: RunFolder) -> tuple[RunFolder, RunFolder]:
    """Two runs; the second has an older best checkpoint, and its recipe asks for beam search."""
    second_run = RunFolder(shutil.copytree(run.path, run.path.with_name("other"), symlinks=True))
    for folder in (run.evaluation_folder, second_run.evaluation_folder):
        shutil.rmtree(folder)
    mark_best(run.checkpoints_folder, 12)
    mark_best(second_run.checkpoints_folder, 6)
    recipe = second_run.config_file.read_text(encoding="utf-8")
    second_run.config_file.write_text(recipe.replace("method: greedy", "method: beam"), encoding="utf-8")
    return run, second_run


def test_several_runs_and_checkpoints_are_compared(two_runs: tuple[RunFolder, RunFolder]) -> None:
    run, second_run = two_runs
    systems = [System((run,), "best"), System((run,), "last"), System((second_run,)), System((second_run,), "12")]
    evaluation = evaluate_systems(systems, overrides=["search.processes=1", "search.split_sentences=true"])
    assert [(scored.system, scored.checkpoint, scored.search) for scored in evaluation.sets] == [
        ("run", "step-000012", "greedy-by-sentence"),
        ("other", "step-000006", "beam-5-by-sentence"),
        ("other", "step-000012", "beam-5-by-sentence"),
    ], "best and last of the first run are one checkpoint"
    assert [len(comparison.sets) for comparison in evaluation.comparisons] == [3]
    assert evaluation.report == run.evaluation_folder / "report.html"
    assert evaluation.report.is_file()
    assert {score.checkpoint for score in saved_scores(second_run.evaluation_folder)} == {"step-000006", "step-000012"}


def test_an_ensemble_is_evaluated_as_a_system_of_its_own(two_runs: tuple[RunFolder, RunFolder]) -> None:
    run, second_run = two_runs
    evaluation = evaluate_systems([System(two_runs)], report=False)
    (ensemble,) = evaluation.sets
    assert ensemble.system == "run+other"
    assert saved_sets(System(two_runs).folder, "run+other")
    assert saved_scores(run.evaluation_folder) == [], "the run's own scores are its own"
    sources = list(ensemble.text.sources)
    together = Translator.load([run.path, second_run.path]).translate_lines(sources)
    assert list(ensemble.hypotheses) == together
    assert together != Translator.load(run.path).translate_lines(sources)
    assert not (run.evaluation_folder / "report.html").exists()


def ensemble_folder(folder: Path, *names: str) -> Path:
    return System(tuple(RunFolder(folder / name) for name in names)).folder


def test_ensembles_of_different_runs_have_different_folders(tmp_path: Path) -> None:
    assert ensemble_folder(tmp_path, "a", "b") == ensemble_folder(tmp_path, "a", "a/../b")
    name_lists = [("b",), ("seed2/b",), ("seed3/b",), ("b+c",), ("b", "c/d")]
    folders = [ensemble_folder(tmp_path, "a", *names) for names in name_lists]
    assert len(set(folders)) == len(folders)
    assert {folder.parent for folder in folders} == {tmp_path / "a" / "evaluation"}

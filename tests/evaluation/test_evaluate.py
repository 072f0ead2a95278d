"""Whole evaluations: files written, mistakes told before the work; several systems and ensembles."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_runs import run as train
from tests.support.toy_corpora import letters, write_pairs
from tests.support.untrained import add_checkpoint, untrained_run
from translator import Translator
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.config import Config
from translator.data import DataHandler
from translator.errors import RunError, StorageError
from translator.evaluation import Evaluation, System, evaluate_systems, saved_scores
from translator.evaluation.results import saved_sets
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.run.folder import RunFolder

QUICK = ("evaluation.metrics=[bleu, chrf]",)


def test_a_moved_run_is_evaluated_without_its_corpus_or_prepared_data(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_evaluation_score_equals_the_validation_score_from_training(tiny: Any, tmp_path: Path) -> None:
    """For the same checkpoint and settings, to the last bit."""
    sentences = [" ".join(word) for word in letters(200, seed=2, alphabet="abc", longest=9)]
    write_pairs(tmp_path / "toy.tsv", [(text, text) for text in sentences])
    settings = ["validate_every=15", "checkpoint_every=15", "max_steps=30", "learning_rate=0.01", "ema_decay=0.5"]
    data = ["corpus.split.test=0", "corpus.filters.near_duplicates=null", "search.avoid_loops=false"]
    config = tiny(*QUICK, *data, *(f"training.{setting}" for setting in settings))
    run = train(config).run
    best = load_checkpoint(find_checkpoint(run.checkpoints_folder, "best"))
    evaluation = evaluate_systems(
        [System((run,))], split="validation", overrides=["search.method=greedy"], report=False
    )
    score = next(score for score in evaluation.scores if score.metric == "chrf")
    assert score.score == best.state.score
    assert score.score > 0
    assert (score.sentences, score.test_set) == (config.training.validation_sentences, "validation")


def test_a_run_without_held_out_text_reports_nothing_to_evaluate(tiny: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = untrained_run(tiny("corpus.split.test=0"))
    assert evaluate_systems([System((run,))]) == Evaluation()
    assert "nothing to evaluate: corpus.split.test is 0 and evaluation.test_sets is empty" in caplog.text


def test_damaged_files_are_reported_before_the_model_is_loaded(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("translator.evaluation.evaluate.Translator")
    run = untrained_run(tiny())
    (tmp_path / "page" / "report.html").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"cannot write .*report\.html"):
        evaluate_systems([System((run,))], output=tmp_path / "page")
    run.evaluation_folder.mkdir()
    scores_file = run.evaluation_folder / "scores.json"
    scores_file.write_text("[")
    with pytest.raises(RunError, match=r"scores\.json is damaged"):
        evaluate_systems([System((run,))])
    scores_file.unlink()
    (run.held_out_folder / "test.json").write_text("{}\n")
    with pytest.raises(RunError, match="held_out"):
        evaluate_systems([System((run,))])


def test_each_line_of_a_later_block_keeps_its_source(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translator.evaluation.evaluate._BLOCK", 1)
    monkeypatch.setattr(TorchSearcher, "batch_rows", 3)
    write_pairs(tmp_path / "more.tsv", [(word, word) for word in letters(200, seed=5)])
    run = untrained_run(tiny(*QUICK, f"corpus.sources.1={{name: more, path: {tmp_path}/more.tsv}}"))
    given: list[str] = []
    original = Translator.translations

    def translations(self: Translator, texts: list[str], *, origins: Any, **options: Any) -> Any:
        given.extend(origins)
        return original(self, texts, origins=origins, **options)

    monkeypatch.setattr(Translator, "translations", translations)
    evaluation = evaluate_systems([System((run,))], split="validation", engine="torch", report=False)
    (scored,) = evaluation.sets
    assert set(given) == {"toy", "more"}
    assert tuple(given) == scored.text.origins


@pytest.fixture
def two_runs(tiny: Any) -> tuple[RunFolder, RunFolder]:
    """Two runs; the second has a newer best checkpoint, and its recipe asks for beam search."""
    config: Config = tiny(*QUICK)
    run = untrained_run(config)
    second_run = RunFolder(run.path.with_name("other"))
    shutil.copytree(run.path, second_run.path, symlinks=True)
    add_checkpoint(second_run, config, DataHandler(config), step=9)
    recipe = second_run.config_file.read_text(encoding="utf-8")
    second_run.config_file.write_text(recipe.replace("method: greedy", "method: beam"), encoding="utf-8")
    return run, second_run


def test_several_runs_and_checkpoints_are_compared(two_runs: tuple[RunFolder, RunFolder]) -> None:
    run, second_run = two_runs
    systems = [System((run,), "best"), System((run,), "last"), System((second_run,)), System((second_run,), "5")]
    evaluation = evaluate_systems(systems, overrides=["search.processes=1", "search.split_sentences=true"])
    assert [(scored.system, scored.checkpoint, scored.search) for scored in evaluation.sets] == [
        ("run", "step-000005", "greedy-by-sentence"),
        ("other", "step-000009", "beam-5-by-sentence"),
        ("other", "step-000005", "beam-5-by-sentence"),
    ], "best and last of the first run are one checkpoint"
    assert [len(comparison.sets) for comparison in evaluation.comparisons] == [3]
    assert evaluation.report == run.evaluation_folder / "report.html"
    assert evaluation.report.is_file()
    assert {score.checkpoint for score in saved_scores(second_run.evaluation_folder)} == {"step-000005", "step-000009"}


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

"""Any number of runs, checkpoints and test sets; what was trained on is told; validation and evaluation agree."""

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from evaluation.held_out_runs import FEW, lines
from tiny_runs import run as train
from toy import letters, write_pairs
from untrained import add_checkpoint, untrained_run

from translator import Translator
from translator.checkpoint import average_run, find_checkpoint, load_checkpoint
from translator.data import DataHandler
from translator.errors import CorpusError, InputError, RunError
from translator.evaluation import System, evaluate_systems, saved_scores
from translator.run_folder import RunFolder

QUICK = (FEW, "evaluation.metrics=[bleu, chrf]")


def write_named(tmp_path: Path, count: int = 5) -> str:
    pairs = [(f"{word} is open", f"در {word} باز است") for word in letters(count, seed=3, alphabet="stuvwx")]
    return f"news={write_pairs(tmp_path / 'news.tsv', pairs)}"


@pytest.mark.parametrize(("metric", "average"), [("bleu", "null"), ("chrf", "null"), ("chrf", "0.5")])
def test_evaluation_gives_the_number_of_the_validation_in_training(
    tiny: Any, tmp_path: Path, metric: str, average: str
) -> None:
    """For the same checkpoint and settings, to the last bit; with and without averaged weights."""
    sentences = [" ".join(word) for word in letters(200, seed=2, alphabet="abc", longest=9)]
    write_pairs(tmp_path / "toy.tsv", [(text, text) for text in sentences])
    settings = ["validate_every=15", "checkpoint_every=15", "max_steps=30", "learning_rate=0.01"]
    settings += [f"best_metric={metric}", f"ema_decay={average}"]
    data = ["corpus.split.test=0", "corpus.filters.near_duplicates=null"]
    config = tiny(*QUICK, *data, *(f"training.{setting}" for setting in settings))
    run = train(config).run
    validated = load_checkpoint(find_checkpoint(run.checkpoints_folder, "best")).state.score
    found = evaluate_systems([System((run,))], split="validation", overrides=["search.method=greedy"], report=False)
    score = next(one for one in found.scores if one.metric == metric)
    assert validated is not None
    assert score.score == validated > 0
    assert score.sentences == config.training.validation_sentences
    assert score.test_set == "validation"


def test_several_runs_and_checkpoints_are_compared(tiny: Any) -> None:
    config = tiny(*QUICK)
    run = untrained_run(config)
    add_checkpoint(run, config, DataHandler(config), step=9)
    other = RunFolder(run.path.with_name("other"))
    shutil.copytree(run.path, other.path, symlinks=True)
    systems = [System((run,), "best"), System((run,), "last"), System((run,), "5"), System((other,), "5")]
    found = evaluate_systems(systems, overrides=["search.processes=1"])
    assert [(one.system, one.checkpoint) for one in found.sets] == [
        ("run", "step-000009"),
        ("run", "step-000005"),
        ("other", "step-000005"),
    ], "best and last are one checkpoint here"
    assert found.folders == [run.evaluation_folder, other.evaluation_folder]
    assert len(found.comparisons) == 1
    assert len(found.comparisons[0].systems) == 3
    assert found.report == run.evaluation_folder / "report.html"
    assert found.report.is_file()
    assert {score.checkpoint for score in saved_scores(run)} == {"step-000009", "step-000005"}
    assert {score.checkpoint for score in saved_scores(other)} == {"step-000005"}
    summary = (run.evaluation_folder / "summary.md").read_text(encoding="utf-8")
    assert "checkpoint step-000009, greedy; checkpoint step-000005, greedy" in summary


def test_an_ensemble_has_a_folder_of_its_own(tiny: Any) -> None:
    config = tiny(*QUICK)
    run = untrained_run(config)
    other = RunFolder(run.path.with_name("other"))
    shutil.copytree(run.path, other.path, symlinks=True)
    add_checkpoint(other, config, DataHandler(config), step=9)
    found = evaluate_systems([System((run, other))])
    folder = run.evaluation_folder / "run+other"
    assert found.folders == [folder]
    assert found.sets[0].system == "run+other"
    assert saved_scores(run) == [], "the run's own scores are its own"
    hypotheses = lines(folder / f"{found.sets[0].name}.hypotheses.txt")
    together = Translator.load([run.path, other.path]).translate_lines(list(found.sets[0].sources))
    assert hypotheses == together
    assert together != Translator.load(run.path).translate_lines(list(found.sets[0].sources))


def test_averaged_checkpoints_are_scored_like_any_other(tiny: Any) -> None:
    config = tiny(*QUICK)
    run = untrained_run(config)
    add_checkpoint(run, config, DataHandler(config), step=9)
    average_run(run.path, 2, "last")
    found = evaluate_systems([System((run,), "averaged")], report=False)
    assert {score.checkpoint for score in found.scores} == {"averaged"}
    assert found.sets[0].hypotheses == tuple(
        Translator.load(run.path, checkpoint="averaged").translate_lines(list(found.sets[0].sources))
    )
    assert not (run.evaluation_folder / "report.html").exists()


def test_a_named_test_set_needs_no_corpus_and_stands_behind_the_own_scores(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny(*QUICK))
    own = evaluate_systems([System((run,))], report=False).scores
    (tmp_path / "toy.tsv").unlink()
    found = evaluate_systems([System((run,))], test_sets=[write_named(tmp_path)], report=False)
    assert {score.test_set for score in found.scores} == {"news"}
    assert saved_scores(run) == [*own, *found.scores]
    assert found.sets[0].rare_shares == (), "the training text cannot be found any more"
    assert lines(run.evaluation_folder / "news.reference.txt") == [texts[0] for texts in found.sets[0].references]


def test_several_references_are_scored_together(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny(*QUICK))
    for name, texts in {"a.en": "abc\nbcd\n", "a.fa": "آب\nنان\n", "b.fa": "باد\nنور\n"}.items():
        (tmp_path / name).write_text(texts, encoding="utf-8")
    argument = f"two={tmp_path}/a.en:{tmp_path}/a.fa:{tmp_path}/b.fa"
    found = evaluate_systems([System((run,))], test_sets=[argument], report=False)
    assert found.sets[0].references == (("آب", "باد"), ("نان", "نور"))
    assert all("nrefs:2" in score.signature for score in found.scores)
    assert lines(run.evaluation_folder / "two.reference-2.txt") == ["باد", "نور"]


def test_sentences_that_the_run_was_trained_on_are_counted(
    tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tiny(*QUICK)
    run = untrained_run(config)
    known = next(DataHandler(config).corpus.lines("train", "toy", "en"))
    write_pairs(tmp_path / "news.tsv", [(f"{known.upper()}!", "در"), ("xyz", "باز"), ("zyx", "است")])
    with caplog.at_level(logging.WARNING, logger="translator"):
        found = evaluate_systems([System((run,))], test_sets=[f"{tmp_path}/news.tsv"], report=False)
    assert "was trained on 1 of the 3 sentences of test set `news`" in caplog.text
    assert found.sets[0].rare_shares == (1.0, 1.0, 1.0), "every word is rare here"
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="translator"):
        evaluate_systems([System((run,))], report=False)
    assert "was trained on" not in caplog.text


def test_rare_words_are_looked_up_as_each_run_writes_them(tiny: Any, tmp_path: Path) -> None:
    """One run keeps the apostrophe of its corpus, and the other has a plain one in its training text."""
    write_pairs(tmp_path / "toy.tsv", [(f"the door’s {word}", f"در {word}") for word in letters(40, seed=1)])
    data = ["corpus.split={validation: 2, test: 2}", "corpus.filters.near_duplicates=null"]
    runs = [
        untrained_run(tiny(*QUICK, *data, f"corpus.normalization.quotes={rule}", f"run.directory={tmp_path}/{rule}"))
        for rule in ("true", "false")
    ]
    news = write_pairs(tmp_path / "news.tsv", [("the door’s", "در")])
    found = evaluate_systems([System((run,)) for run in runs], test_sets=[str(news)], report=False)
    assert [one.rare_shares for one in found.sets] == [(0.0,), (0.0,)]


def test_what_is_wrong_with_a_named_set_is_said_before_any_work(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = untrained_run(tiny(*QUICK))
    named = write_named(tmp_path)
    (tmp_path / "german.tsv").write_text("The door\tDie Tür\n", encoding="utf-8")
    monkeypatch.delattr("translator.evaluation.system.Translator")
    with pytest.raises(InputError, match="two test sets are called `news`; name them"):
        evaluate_systems([System((run,))], test_sets=[named, named])
    with pytest.raises(CorpusError, match="reference is of another language"):
        evaluate_systems([System((run,))], test_sets=[str(tmp_path / "german.tsv")])
    assert not run.evaluation_folder.exists()


def test_a_damaged_second_run_is_said(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny(*QUICK))
    other = RunFolder(tmp_path / "other")
    shutil.copytree(run.path, other.path, symlinks=True)
    shutil.rmtree(other.checkpoints_folder)
    with pytest.raises(RunError, match="other"):
        evaluate_systems([System((run,)), System((other,))], report=False)


def test_runs_that_search_in_unlike_ways_are_warned_of(
    tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first run searches greedily, and the second by its own recipe with a beam."""
    run = untrained_run(tiny(*QUICK))
    other = RunFolder(tmp_path / "other")
    shutil.copytree(run.path, other.path, symlinks=True)
    recipe = other.path / "config.yaml"
    text = recipe.read_text(encoding="utf-8")
    assert "method: greedy" in text
    recipe.write_text(text.replace("method: greedy", "method: beam"), encoding="utf-8")
    systems = [System((run,)), System((other,))]
    with caplog.at_level(logging.WARNING, logger="translator"):
        found = evaluate_systems(systems, report=False)
        searches = list(dict.fromkeys(one.search for one in found.sets))
        assert searches[0] == "greedy"
        assert searches[1].startswith("beam")
        warned = [record for record in caplog.records if "searched as each of their recipes says" in record.message]
        assert len(warned) == 1
        assert f"({', '.join(searches)})" in warned[0].message
        caplog.clear()
        evaluate_systems(systems, overrides=["search.method=greedy"], report=False)
    assert "searched as each" not in caplog.text

"""Whole evaluations: files written, resumed, refused; several systems, ensembles, COMET, the `evaluate` command."""

import json
import logging
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from tiny_runs import run as train
from toy import letters, write_pairs
from untrained import add_checkpoint, untrained_run

from translator import Translator
from translator.checkpoint.averaging import average_run
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.cli import main
from translator.config import Config
from translator.corpus.held_out import read_held_out_folder, write_held_out
from translator.data import DataHandler
from translator.errors import CorpusError, InputError, RunError, StorageError
from translator.evaluation import (
    Evaluation,
    System,
    evaluate_run,
    evaluate_systems,
    read_scored_set,
    saved_scores,
)
from translator.evaluation.comet import comet_lacks, comet_score
from translator.evaluation.unfinished import hold_results
from translator.inference.translation import Translation
from translator.run.folder import RunFolder

FEW = "evaluation.bootstrap_samples=40"
QUICK = (FEW, "evaluation.metrics=[bleu, chrf]")


def lines(path: Path) -> list[str]:
    content = path.read_text(encoding="utf-8")
    assert content.endswith("\n")
    return content[:-1].split("\n")


def with_test_set(tiny: Any, tmp_path: Path) -> Config:
    """Return a recipe with a further test set whose references differ from their normalized form."""
    pairs = [(word, f"{word} كتاب .") for word in letters(9, seed=5, alphabet="stuvwx")]
    write_pairs(tmp_path / "extra.tsv", pairs)
    config: Config = tiny(f"evaluation.test_sets=[{{name: extra, path: {tmp_path}/extra.tsv}}]", FEW)
    return config


def write_named(tmp_path: Path, count: int = 5) -> str:
    pairs = [(f"{word} is open", f"در {word} باز است") for word in letters(count, seed=3, alphabet="stuvwx")]
    return f"news={write_pairs(tmp_path / 'news.tsv', pairs)}"


def copy_of(run: RunFolder, path: Path) -> RunFolder:
    shutil.copytree(run.path, path, symlinks=True)
    return RunFolder(path)


def test_every_test_set_is_translated_scored_and_written(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(with_test_set(tiny, tmp_path))
    found = evaluate_run(run)
    folder = run.evaluation_folder
    of_set = ["reference.txt", "source.txt"]
    of_set += [f"step-000005.greedy.{file}" for file in ("diagnosis.json", "hypotheses.txt", "sentences.jsonl")]
    expected = [*(f"{name}.{file}" for name in ("extra", "toy") for file in of_set), "report.html", "scores.json"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected)
    assert lines(folder / "extra.reference.txt")[0].endswith(" كتاب ."), "references are as read"
    for name, count in (("toy", 20), ("extra", 9)):
        sources, references = (lines(folder / f"{name}.{side}.txt") for side in ("source", "reference"))
        hypotheses = lines(folder / f"{name}.step-000005.greedy.hypotheses.txt")
        assert len(sources) == len(references) == len(hypotheses) == count
        assert hypotheses == Translator.load(run.path).translate_lines(sources)
        chrf = next(score for score in found.scores if score.test_set == name and score.metric == "chrf")
        assert chrf.score == sacrebleu.corpus_chrf(hypotheses, [references]).score
    entries = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert entries == [score.to_json() for score in found.scores]
    assert len(entries) == 2 * 3 * 6, "two sets, three spellings, six metrics without a model"
    assert len(found.missing) == 2
    first = ("test_set", "toy"), ("metric", "bleu"), ("normalization", "raw"), ("search", "greedy")
    assert entries[0].items() >= {*first, ("checkpoint", "step-000005")}
    assert len(found.samples) == 10 + 9
    for scored in found.sets:
        assert read_scored_set(folder / f"{scored.name}.sentences.jsonl") == scored
        assert scored.hypothesis_scores and scored.reference_scores and scored.rare_shares


def test_a_moved_run_is_evaluated_without_its_corpus_or_prepared_data(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = train(with_test_set(tiny, tmp_path)).run
    scores = [score.to_json() for score in saved_scores(run)]
    shutil.rmtree(tmp_path / "prepared")
    for corpus in tmp_path.glob("*.tsv"):
        corpus.unlink()
    moved = RunFolder(run.path.rename(tmp_path / "elsewhere"))
    shutil.rmtree(moved.evaluation_folder)
    monkeypatch.chdir(tmp_path.parent)
    with caplog.at_level(logging.INFO, logger="translator"):
        found = evaluate_run(moved)
    assert [score.to_json() for score in found.scores] == scores
    assert caplog.text.count("is not on this disk") == 1
    assert found.sets[0].rare_shares == ()


@pytest.mark.parametrize(("code", "message"), [(130, "stopped by signal 2"), (2, "partial.jsonl: the disk is full")])
def test_a_stopped_evaluation_keeps_its_translations_and_resumes(
    tiny: Any, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained_run(tiny(*QUICK))
    whole = evaluate_run(run)
    shutil.rmtree(run.evaluation_folder)
    monkeypatch.setattr("translator.evaluation.unfinished._BLOCK", 6)
    asked: list[int] = []
    translations = Translator.translations

    def counted(self: Translator, texts: Sequence[str], **others: Any) -> list[list[Translation]]:
        if len(asked) == 2:
            asked.clear()
            if code == 2:
                raise OSError(28, "No space left on device")
            signal.raise_signal(signal.SIGINT)
        asked.append(len(texts))
        return translations(self, texts, **others)

    monkeypatch.setattr(Translator, "translations", counted)
    assert main(["evaluate", "--run", str(run.path)]) == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    (partial,) = run.evaluation_folder.glob("*.partial.jsonl")
    texts = [run.evaluation_folder / f"toy.{side}.txt" for side in ("reference", "source")]
    assert sorted(run.evaluation_folder.iterdir()) == sorted([partial, *texts])
    saved = [json.loads(line) for line in lines(partial)]
    assert [row["line"] for row in saved] == list(range(1, 13))
    assert [row["translation"]["text"] for row in saved] == list(whole.sets[0].hypotheses[:12])
    with partial.open("a", encoding="utf-8") as stream:
        stream.write('{"line": 13, "translation": {"text": "cut off')
    assert evaluate_run(run).sets[0].hypotheses == whole.sets[0].hypotheses
    assert asked == [6, 2], "the first 12 of 20 are kept"
    assert not partial.exists()


def test_repeated_evaluations_agree_and_other_settings_keep_their_scores(tiny: Any) -> None:
    config = tiny(*QUICK)
    run = untrained_run(config)
    first = evaluate_run(run)
    assert evaluate_run(run) == first
    assert saved_scores(run) == first.scores
    beam = evaluate_run(run, overrides=["search.method=beam", "search.beam_size=2", "search.split_sentences=true"])
    assert {score.search for score in first.scores + beam.scores} == {"greedy", "beam-2-by-sentence"}
    assert saved_scores(run) == [*beam.scores, *first.scores]
    add_checkpoint(run, config, DataHandler(config).prepare(), step=9)
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
    validated = load_checkpoint(find_checkpoint(run.checkpoints_folder, "best")).state.score
    found = evaluate_systems([System((run,))], split="validation", overrides=["search.method=greedy"], report=False)
    score = next(one for one in found.scores if one.metric == metric)
    assert validated is not None
    assert score.score == validated > 0
    assert (score.sentences, score.test_set) == (config.training.validation_sentences, "validation")


def test_a_run_without_held_out_text_reports_nothing_to_evaluate(tiny: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = untrained_run(tiny("corpus.split.test=0"))
    assert evaluate_run(run) == Evaluation()
    assert "nothing to evaluate: corpus.split.test is 0 and evaluation.test_sets is empty" in caplog.text


def test_damaged_files_are_reported_before_the_model_is_loaded(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("translator.evaluation.evaluate.Translator")
    run = untrained_run(tiny(FEW))
    run.evaluation_folder.write_text("in the way")
    with pytest.raises(StorageError, match="evaluation"):
        evaluate_run(run)
    run.evaluation_folder.unlink()
    run.evaluation_folder.mkdir()
    (run.evaluation_folder / "scores.json").write_text("[")
    with pytest.raises(RunError, match=r"scores\.json is damaged"):
        evaluate_run(run)
    (run.evaluation_folder / "scores.json").unlink()
    (run.held_out_folder / "test.jsonl").write_text("{}\n")
    with pytest.raises(RunError, match="held_out"):
        evaluate_run(run)


def test_several_runs_and_checkpoints_are_compared(tiny: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The second run's own recipe asks for beam search; the difference in search settings causes a warning."""
    config = tiny(*QUICK)
    run = untrained_run(config)
    add_checkpoint(run, config, DataHandler(config).prepare(), step=9)
    other = copy_of(run, run.path.with_name("other"))
    recipe = (other.path / "config.yaml").read_text(encoding="utf-8")
    (other.path / "config.yaml").write_text(recipe.replace("method: greedy", "method: beam"), encoding="utf-8")
    systems = [System((run,), "best"), System((run,), "last"), System((run,), "5"), System((other,), "5")]
    found = evaluate_systems(systems, overrides=["search.processes=1"])
    assert [(one.system, one.checkpoint, one.search) for one in found.sets] == [
        ("run", "step-000009", "greedy"),
        ("run", "step-000005", "greedy"),
        ("other", "step-000005", "beam-5"),
    ], "best and last are one checkpoint here"
    assert "the runs have different search settings (greedy, beam-5); set --search for all" in caplog.text
    assert found.folders == [run.evaluation_folder, other.evaluation_folder]
    assert [len(one.systems) for one in found.comparisons] == [3]
    assert found.report == run.evaluation_folder / "report.html"
    assert found.report.is_file()
    assert {score.checkpoint for score in saved_scores(other)} == {"step-000005"}


def test_ensembles_and_averaged_checkpoints_are_evaluated_as_systems(tiny: Any) -> None:
    config = tiny(*QUICK)
    run = untrained_run(config)
    other = copy_of(run, run.path.with_name("other"))
    add_checkpoint(other, config, DataHandler(config).prepare(), step=9)
    average_run(other.path, 2, "last")
    found = evaluate_systems([System((run, other)), System((other,), "averaged")], report=False)
    assert found.folders == [System((run, other)).folder, other.evaluation_folder]
    assert [one.system for one in found.sets] == ["run+other", "other"]
    assert saved_scores(run) == [], "the run's own scores are its own"
    sources = list(found.sets[0].sources)
    together = Translator.load([run.path, other.path]).translate_lines(sources)
    assert lines(found.folders[0] / f"{found.sets[0].name}.hypotheses.txt") == together
    assert together != Translator.load(run.path).translate_lines(sources)
    averaged = Translator.load(other.path, checkpoint="averaged").translate_lines(sources)
    assert found.sets[1].hypotheses == tuple(averaged)
    assert not (run.evaluation_folder / "report.html").exists()


def test_named_test_set_scores_follow_existing_ones_and_leaks_are_counted(
    tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tiny(*QUICK)
    run = untrained_run(config)
    own = evaluate_systems([System((run,))], report=False).scores
    known = next(DataHandler(config).prepare().corpus.lines("train", "toy", "en"))
    write_pairs(tmp_path / "news.tsv", [(f"{known.upper()}!", "در"), ("xyz", "باز"), ("zyx", "است")])
    (tmp_path / "toy.tsv").unlink()
    found = evaluate_systems([System((run,))], test_sets=[f"{tmp_path}/news.tsv"], report=False)
    assert "was trained on 1 of the 3 sentences of test set `news`" in caplog.text
    assert found.sets[0].rare_shares == (1.0, 1.0, 1.0)
    assert saved_scores(run) == [*own, *found.scores]
    caplog.clear()
    evaluate_systems([System((run,))], report=False)
    assert "was trained on" not in caplog.text


def test_another_text_with_the_name_of_the_test_set_of_a_run_replaces_nothing(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny(*QUICK))
    own = evaluate_systems([System((run,))], report=False)
    files = {file: file.read_bytes() for file in run.evaluation_folder.glob("toy.*")}
    named = [write_named(tmp_path).replace("news=", "toy=")]
    found = evaluate_systems([System((run,))], test_sets=named, report=False)
    again = evaluate_systems([System((run,))], test_sets=named, report=False)
    assert {file: file.read_bytes() for file in files} == files
    assert again == found
    assert saved_scores(run) == [*own.scores, *found.scores]
    assert found.sets[0].test_set.startswith("toy-")


def test_the_own_text_of_the_first_run_does_not_lead_the_scores_of_another_run(tiny: Any) -> None:
    run = untrained_run(tiny(*QUICK))
    other = copy_of(run, run.path.with_name("other"))
    text = read_held_out_folder(run.held_out_folder, "test")[0]
    write_held_out(other.held_out_folder, "test", [replace(text, sources=("another", *text.sources[1:]))])
    own = evaluate_systems([System((other,))], report=False)
    found = evaluate_systems([System((run,)), System((other,))], report=False)
    assert saved_scores(other)[: len(own.scores)] == own.scores
    assert {scored.test_set for scored in found.sets} != {"toy"}


def test_an_evaluation_that_another_process_makes_is_refused(tiny: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = untrained_run(tiny(*QUICK))
    run.evaluation_folder.mkdir()
    with hold_results(run.evaluation_folder, "toy.step-000005.greedy"):
        assert main(["evaluate", "--run", str(run.path)]) == 2
    assert "another process evaluates toy.step-000005.greedy in" in capsys.readouterr().err
    assert list(run.evaluation_folder.iterdir()) == []


def test_invalid_named_test_sets_are_reported_before_any_work(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny(*QUICK))
    named = write_named(tmp_path)
    (tmp_path / "german.tsv").write_text("The door\tDie Tür\n", encoding="utf-8")
    with pytest.raises(InputError, match="two test sets are called `news`; name them"):
        evaluate_systems([System((run,))], test_sets=[named, named])
    with pytest.raises(CorpusError, match="reference is in another language"):
        evaluate_systems([System((run,))], test_sets=[str(tmp_path / "german.tsv")])
    assert not run.evaluation_folder.exists()


def test_ensembles_of_different_runs_have_different_folders(tmp_path: Path) -> None:
    """Runs of the same name in different folders, names with a plus, and names too long for a file system."""

    def ensemble(*names: str) -> Path:
        return System(tuple(RunFolder(tmp_path / name) for name in names)).folder

    assert ensemble("a") == tmp_path / "a" / "evaluation"
    assert ensemble("a", "b") == ensemble("a", "a/../b")
    long = tuple("x" * 90 + str(number) for number in range(4))
    others = [("b",), ("seed2/b",), ("seed3/b",), ("b+c",), ("b", "c"), long[:3], long]
    folders = [ensemble("a", *names) for names in others]
    assert len(set(folders)) == len(folders)
    assert all(folder.parent == ensemble("a") and len(folder.name) < 120 for folder in folders)


# --- COMET, an external program ---

PROGRAM = """import json, os, sys
values = dict(zip(sys.argv[1::1], sys.argv[2::1]))
assert os.environ["HF_HUB_OFFLINE"] == os.environ["TRANSFORMERS_OFFLINE"] == "1"
assert values["--model"] == "{model}" and values["--gpus"] == "0"
rows = zip(*(open(values[flag], encoding="utf-8").read().splitlines() for flag in ("-s", "-t", "-r")))
print("no such layer", file=sys.stderr)
{then}
json.dump({{values["-t"]: [{{"COMET": len(src) / 10 if mt == ref else 0.0}} for src, mt, ref in rows]}},
          open(values["--to_json"], "w"))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "models [wmt22]" / "model.ckpt"
    path.parent.mkdir()
    path.write_bytes(b"weights")
    return path


def install(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, then: str = "") -> None:
    program, script = tmp_path / "bin" / "comet-score", tmp_path / "comet.py"
    program.parent.mkdir()
    script.write_text(PROGRAM.format(model=model, then=then), encoding="utf-8")
    # The first line of a script cannot name a Python whose path has a space in it.
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_the_reason_why_comet_cannot_run_is_named(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = RunFolder(tmp_path / "run")
    assert "evaluation.comet_model=FILE.ckpt" in str(comet_lacks(None, run))
    assert "COMET needs a checkpoint" in str(comet_lacks(str(tmp_path / "nowhere.ckpt"), run))
    assert "is inside a run folder" in str(comet_lacks(str(model), RunFolder(model.parent)))
    assert "pip install unbabel-comet" in str(comet_lacks(str(model), run))


def test_recipe_comet_model_is_used_after_training_and_in_later_evaluation(
    tiny: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, model, monkeypatch)
    run = train(tiny(FEW, "evaluation.metrics=[bleu, comet]", f"evaluation.comet_model='{model}'")).run
    (trained,) = (score for score in saved_scores(run) if score.metric == "comet")
    (run.evaluation_folder / "scores.json").unlink()
    (again,) = (score for score in evaluate_run(run).scores if score.metric == "comet")
    assert again == trained
    assert "model:model" in again.signature
    assert again.interval is not None
    assert again.interval[0] <= again.score <= again.interval[1]


@pytest.mark.parametrize("then", ["sys.exit(3)", "rows = []"])
def test_a_comet_failure_is_reported_with_its_error_output(
    tiny: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    install(tmp_path, model, monkeypatch, then)
    with pytest.raises(InputError, match="comet-score did not score the translations") as caught:
        comet_score(tiny(f"evaluation.comet_model='{model}'"), ["a"], ["آ"], [("آ",)])
    assert "no such layer" in str(caught.value)


# --- the `evaluate` command ---


def test_lines_left_out_are_named_on_the_console_in_scores_json_and_on_the_page(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, texts in {
        "news.en": ["we stay", "you go", "no", "they sit", ""],
        "news.fa": ["می‌مانیم", "می‌روی", " ", "می‌نشینند", "پنجم"],
        "other.fa": ["", "رفتی", "\u200c", "نشستند", ""],
    }.items():
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    files = ":".join(str(tmp_path / name) for name in ("news.en", "news.fa", "other.fa"))
    assert main(["evaluate", "--run", str(run.path), "--test-set", f"news={files}"]) == 0
    printed = capsys.readouterr()
    note = "2 of 5 left out (lines 3, 5)"
    assert f"test set `news`: {note}" in printed.err
    assert f"news: {note}" in printed.out
    assert f"news, 3 sentences, {note}" in (run.evaluation_folder / "report.html").read_text(encoding="utf-8")
    for score in saved_scores(run):
        assert (score.sentences, score.left_out) == (3, (3, 5))
        assert score.signature.startswith("nrefs:var|")
    assert lines(run.evaluation_folder / "news.reference-2.txt") == ["", "رفتی", "نشستند"]


@pytest.fixture
def run(tiny: Any) -> RunFolder:
    return untrained_run(tiny(FEW, "evaluation.metrics=[bleu, chrf, comet]"))


def test_evaluate_command_prints_scores_with_intervals(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--run", str(run.path), "--output", str(run.path / "page"), "--search", "greedy"]) == 0
    out = capsys.readouterr().out
    for text in (
        "ZWNJ as space",
        "95% bootstrap interval",
        "bleu: nrefs:1|bs:40|seed:12345",
        "not computed: COMET needs a model",
    ):
        assert text in out
    assert "Diagnosis of toy" in out
    assert (run.path / "page" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split", "validation", "--test-set", "x.tsv"], "--split selects"),
        (["--no-report", "--output", "x"], "leave out one"),
        (["--ensemble"], "--ensemble needs at least two runs"),
        (["--test-set", "nowhere.tsv"], "`nowhere.tsv` cannot be found"),
        (["--checkpoint", "7"], "7"),
        (["--set", "evaluation.bootstrap_samples=3"], "evaluation.bootstrap_samples"),
    ],
)
def test_evaluate_command_reports_wrong_arguments_without_traceback(
    run: RunFolder, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "--run", str(run.path), *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_unwritable_output_is_reported_before_scoring(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("translator.evaluation.evaluate.compute_scores")
    (tmp_path / "page" / "report.html").mkdir(parents=True)
    assert main(["evaluate", "--run", str(run.path), "--output", str(tmp_path / "page")]) == 2
    assert f"translator: cannot write {tmp_path / 'page' / 'report.html'}: " in capsys.readouterr().err

"""An evaluation translates what was held out, scores it against the references as read, and writes it all down."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from evaluation.held_out_runs import FEW, lines, with_test_set
from toy import letters, write_pairs
from untrained import add_checkpoint, untrained_run

from translator import Translator
from translator.config import SearchConfig
from translator.data import DataHandler
from translator.errors import CorpusError, RunError, StorageError
from translator.evaluation import (
    Evaluation,
    compute_scores,
    evaluate_run,
    read_scored_set,
    saved_scores,
)
from translator.inference import Translation
from translator.run_folder import RunFolder


def test_every_test_set_is_translated_and_scored(tiny: Any, tmp_path: Path) -> None:
    config = with_test_set(tiny, tmp_path)
    run = untrained_run(config)
    found = evaluate_run(run)
    folder = run.evaluation_folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "extra.reference.txt",
        "extra.source.txt",
        "extra.step-000005.greedy.diagnosis.json",
        "extra.step-000005.greedy.hypotheses.txt",
        "extra.step-000005.greedy.sentences.jsonl",
        "report.html",
        "scores.json",
        "slices.json",
        "summary.md",
        "toy.reference.txt",
        "toy.source.txt",
        "toy.step-000005.greedy.diagnosis.json",
        "toy.step-000005.greedy.hypotheses.txt",
        "toy.step-000005.greedy.sentences.jsonl",
    ]
    assert lines(folder / "extra.reference.txt")[0].endswith(" كتاب ."), "references are as read"
    for name, count in (("toy", 20), ("extra", 9)):
        sources, references = (lines(folder / f"{name}.{side}.txt") for side in ("source", "reference"))
        hypotheses = lines(folder / f"{name}.step-000005.greedy.hypotheses.txt")
        assert len(sources) == len(references) == len(hypotheses) == count
        assert hypotheses == Translator.load(run.path).translate_lines(sources)
        chrf = next(score for score in found.scores if score.test_set == name and score.metric == "chrf")
        assert chrf.score == sacrebleu.corpus_chrf(hypotheses, [references]).score
        assert chrf.sentences == count
    entries = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert entries == [score.to_json() for score in found.scores]
    assert len(entries) == 2 * 3 * 6, "two sets, three spellings, six metrics without a model"
    assert len(found.missing) == 2
    for one, entry in zip(found.scores, entries, strict=True):
        assert one.interval is not None
        assert entry["interval"] == list(one.interval)
    assert entries[0]["metric"] == "bleu"
    assert entries[0]["normalization"] == "raw"
    assert entries[0]["search"] == "greedy"
    assert entries[0]["checkpoint"] == "step-000005"
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert "| extra | chrf++ |" in summary
    assert summary.count("translated: ") == len(found.samples) == 10 + 9
    for sample in found.samples[:10]:
        assert sample.source in lines(folder / "toy.source.txt")


def test_a_perfect_translation_of_the_raw_references_is_perfect(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def know(self: Translator, texts: Sequence[str], **_: object) -> list[list[Translation]]:
        return [[Translation(f"{text} كتاب .", -1.0, -1.0, 3, 1, True)] for text in texts]

    monkeypatch.setattr(Translator, "translations", know)
    scores = evaluate_run(untrained_run(with_test_set(tiny, tmp_path))).scores
    raw = {(score.test_set, score.metric): score.score for score in scores if score.normalization == "raw"}
    assert raw["extra", "chrf"] == raw["extra", "chrf++"] == pytest.approx(100)
    assert raw["toy", "chrf"] < 90


def test_the_same_evaluation_gives_the_same_and_another_is_kept_beside(tiny: Any) -> None:
    config = tiny(FEW)
    run = untrained_run(config)
    first = evaluate_run(run)
    assert evaluate_run(run) == first
    assert saved_scores(run) == first.scores
    beam = evaluate_run(run, overrides=["search.method=beam", "search.beam_size=2"])
    assert saved_scores(run) == [*beam.scores, *first.scores]
    add_checkpoint(run, config, DataHandler(config), step=9)
    newer = evaluate_run(run)
    assert saved_scores(run) == [*newer.scores, *beam.scores, *first.scores]
    assert {score.checkpoint for score in newer.scores} == {"step-000009"}
    older = evaluate_run(run, checkpoint="5")
    assert older == first
    assert (run.evaluation_folder / "toy.step-000009.greedy.hypotheses.txt").exists(), "nothing that was scored is lost"


def test_it_gives_the_number_of_a_validation_of_the_same_pairs(tiny: Any) -> None:
    """What the trainer does at a validation, with the test pairs."""
    run = untrained_run(tiny(FEW))
    found = evaluate_run(run).scores
    sources, references = (lines(run.evaluation_folder / f"toy.{side}.txt") for side in ("source", "reference"))
    translator = Translator.load(run.path, search=SearchConfig(method="greedy"))
    scores = compute_scores(translator.translate_lines(sources), references, metrics=("bleu", "chrf"))
    ours = {score.metric: score.score for score in found if score.normalization == "raw"}
    assert {score.metric: score.score for score in scores} == {name: ours[name] for name in ("bleu", "chrf")}


def test_metrics_can_be_chosen_afterwards(tiny: Any) -> None:
    run = untrained_run(tiny(FEW))
    scores = evaluate_run(run, overrides=["evaluation.metrics=[chrf]"]).scores
    assert [(score.metric, score.normalization == "raw") for score in scores] == [
        ("bleu", True),
        ("chrf", True),
        ("chrf", False),
        ("chrf", False),
    ]


def test_nothing_held_out_is_said(tiny: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = untrained_run(tiny("corpus.split.test=0"))
    with caplog.at_level(logging.WARNING, logger="translator"):
        assert evaluate_run(run) == Evaluation([], [])
    assert "nothing to evaluate: corpus.split.test is 0 and evaluation.test_sets is empty" in caplog.text
    assert not run.evaluation_folder.exists()


def test_a_changed_corpus_is_told(tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = untrained_run(tiny(FEW))
    with caplog.at_level(logging.WARNING, logger="translator"):
        evaluate_run(run)
    assert "have changed" not in caplog.text
    write_pairs(tmp_path / "toy.tsv", [(word, word) for word in letters(150, seed=9)])
    with caplog.at_level(logging.WARNING, logger="translator"):
        evaluate_run(run)
    assert "the data of" in caplog.text
    assert "have changed since it was trained" in caplog.text


def test_a_missing_corpus_is_said(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny(FEW))
    (tmp_path / "toy.tsv").unlink()
    with pytest.raises(CorpusError, match="toy"):
        evaluate_run(run)


def test_damaged_scores_are_said_before_any_work(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = untrained_run(tiny(FEW))
    run.evaluation_folder.mkdir()
    (run.evaluation_folder / "scores.json").write_text("[")
    monkeypatch.delattr("translator.evaluation.system.Translator")
    with pytest.raises(RunError, match=r"scores\.json is damaged"):
        evaluate_run(run)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        evaluate_run(RunFolder(tmp_path / "nowhere"))


def test_what_was_translated_can_be_read_again(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(with_test_set(tiny, tmp_path))
    found = evaluate_run(run)
    for scored in found.sets:
        assert read_scored_set(run.evaluation_folder / f"{scored.name}.sentences.jsonl") == scored
        assert scored.hypothesis_scores is not None
        assert scored.reference_scores is not None
        assert scored.rare_shares
    assert [scored.test_set for scored in found.sets] == ["toy", "extra"]


def test_a_folder_that_cannot_be_written_is_said_before_any_work(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = untrained_run(tiny(FEW))
    run.evaluation_folder.write_text("in the way")
    monkeypatch.delattr("translator.evaluation.system.Translator")
    with pytest.raises(StorageError, match="evaluation"):
        evaluate_run(run)

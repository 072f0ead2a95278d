"""An evaluation translates what was held out, scores it against the references as read, and writes it all down."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from toy import letters, write_pairs
from untrained import add_checkpoint, untrained_run

from translator import Translator
from translator.config import Config, SearchConfig
from translator.data import DataHandler
from translator.errors import CorpusError, RunError
from translator.evaluation import Evaluation, compute_scores, evaluate_run, saved_scores
from translator.evaluation.evaluate import search_label
from translator.run_folder import RunFolder


def lines(path: Path) -> list[str]:
    content = path.read_text(encoding="utf-8")
    assert content.endswith("\n")
    return content[:-1].split("\n")


def with_test_set(tiny: Any, tmp_path: Path) -> Config:
    """Return a recipe with a further test set whose references differ from their normalized form."""
    pairs = [(word, f"{word} كتاب .") for word in letters(9, seed=5, alphabet="stuvwx")]
    write_pairs(tmp_path / "extra.tsv", pairs)
    config: Config = tiny(f"evaluation.test_sets=[{{name: extra, path: {tmp_path}/extra.tsv}}]")
    return config


def test_every_test_set_is_translated_and_scored(tiny: Any, tmp_path: Path) -> None:
    config = with_test_set(tiny, tmp_path)
    run = untrained_run(config)
    found = evaluate_run(run)
    folder = run.evaluation_folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "extra.reference.txt",
        "extra.source.txt",
        "extra.step-000005.greedy.hypotheses.txt",
        "scores.json",
        "summary.md",
        "toy.reference.txt",
        "toy.source.txt",
        "toy.step-000005.greedy.hypotheses.txt",
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
    assert len(entries) == 2 * 2 * len(config.evaluation.metrics)
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
    def know(self: Translator, texts: Sequence[str], **_: object) -> list[str]:
        return [f"{text} كتاب ." for text in texts]

    monkeypatch.setattr(Translator, "translate_lines", know)
    scores = evaluate_run(untrained_run(with_test_set(tiny, tmp_path))).scores
    raw = {(score.test_set, score.metric): score.score for score in scores if score.normalization == "raw"}
    assert raw["extra", "chrf"] == raw["extra", "chrf++"] == pytest.approx(100)
    assert raw["toy", "chrf"] < 90


def test_the_same_evaluation_gives_the_same_and_another_is_kept_beside(tiny: Any) -> None:
    config = tiny()
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
    run = untrained_run(tiny())
    found = evaluate_run(run).scores
    sources, references = (lines(run.evaluation_folder / f"toy.{side}.txt") for side in ("source", "reference"))
    translator = Translator.load(run.path, search=SearchConfig(method="greedy"))
    scores = compute_scores(translator.translate_lines(sources), references, metrics=("bleu", "chrf"))
    ours = {score.metric: score.score for score in found if score.normalization == "raw"}
    assert {score.metric: score.score for score in scores} == {name: ours[name] for name in ("bleu", "chrf")}


def test_metrics_can_be_chosen_afterwards(tiny: Any) -> None:
    run = untrained_run(tiny())
    scores = evaluate_run(run, overrides=["evaluation.metrics=[chrf]"]).scores
    assert [(score.metric, score.normalization == "raw") for score in scores] == [
        ("bleu", True),
        ("chrf", True),
        ("chrf", False),
    ]


def test_nothing_held_out_is_said(tiny: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = untrained_run(tiny("corpus.split.test=0"))
    with caplog.at_level(logging.WARNING, logger="translator"):
        assert evaluate_run(run) == Evaluation([], [])
    assert "nothing to evaluate: corpus.split.test is 0 and evaluation.test_sets is empty" in caplog.text
    assert not run.evaluation_folder.exists()


def test_a_changed_corpus_is_told(tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = untrained_run(tiny())
    with caplog.at_level(logging.WARNING, logger="translator"):
        evaluate_run(run)
    assert "have changed" not in caplog.text
    write_pairs(tmp_path / "toy.tsv", [(word, word) for word in letters(150, seed=9)])
    with caplog.at_level(logging.WARNING, logger="translator"):
        evaluate_run(run)
    assert "the data of" in caplog.text
    assert "have changed since it was trained" in caplog.text


def test_a_missing_corpus_is_said(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny())
    (tmp_path / "toy.tsv").unlink()
    with pytest.raises(CorpusError, match="toy"):
        evaluate_run(run)


def test_damaged_scores_are_said_before_any_work(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = untrained_run(tiny())
    run.evaluation_folder.mkdir()
    (run.evaluation_folder / "scores.json").write_text("[")
    monkeypatch.delattr("translator.evaluation.evaluate.Translator")
    with pytest.raises(RunError, match=r"scores\.json is damaged"):
        evaluate_run(run)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        evaluate_run(RunFolder(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("config", "label"),
    [
        (SearchConfig(method="greedy"), "greedy"),
        (SearchConfig(), "beam-5"),
        (SearchConfig(batch_size=3), "beam-5"),
        (SearchConfig(beam_size=2, length_penalty=0.6, max_length_ratio=3), "beam-2-penalty-0.6-ratio-3"),
    ],
)
def test_search_labels_tell_settings_apart(config: SearchConfig, label: str) -> None:
    assert search_label(config) == label

"""The chrF lost when the source is typed differently: computed as by sacreBLEU, saved, shown in every output."""

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import sacrebleu
from echo_model import echo
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from translated_sets import translated
from untrained import untrained_run

from translator.cli import main
from translator.evaluation import evaluate_run
from translator.evaluation.robustness import WAYS, chrf_of, counts_for_chrf, measure_robustness

TEXT = st.text(st.sampled_from("ab کت.؟"), max_size=12)
FLAGS = ("evaluation.bootstrap_samples=40", "evaluation.metrics=[bleu, chrf]")


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=5))
def test_chrf_from_counts_equals_that_of_sacrebleu(rows: list[tuple[str, str, str]]) -> None:
    hypotheses, *references = map(list, zip(*rows, strict=True))
    expected = sacrebleu.corpus_chrf(hypotheses, references).score
    counts = counts_for_chrf(hypotheses, list(zip(*references, strict=True)))
    assert float(chrf_of(counts.sum(axis=0))) == pytest.approx(expected, abs=1e-9)
    twice = np.stack([counts.sum(axis=0), 3 * counts.sum(axis=0)])
    assert chrf_of(twice) == pytest.approx(expected, abs=1e-9)


def test_each_way_of_typing_changes_the_text_as_its_name_says() -> None:
    text = "He said: \"I don't know  NATO's plans for 2024.\""
    typed = {way: change(text, Random(2)) for way, change in WAYS.items()}
    assert typed["capitals"] == "HE SAID: \"I DON'T KNOW  NATO'S PLANS FOR 2024.\""
    assert typed["title-case"] == "He Said: \"I Don't Know  Nato's Plans For 2024.\""
    assert typed["lower-case"] == text.lower()
    assert typed["no-final-punctuation"] == text.replace(".", "")
    assert typed["typos"] != text and abs(len(typed["typos"]) - len(text)) <= 3
    assert " ".join(typed["quotes-and-spaces"].split()) == "He said: “I don’t know NATO’s plans for 2024.”"
    assert typed["quotes-and-spaces"].count(" ") > text.count(" ")


def test_robustness_flag_saves_and_shows_the_loss_of_each_way_of_typing(
    tiny: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = untrained_run(tiny(*FLAGS))
    folder, named = run.evaluation_folder, "toy.step-000005.greedy"
    run.tensorboard_folder.mkdir()
    plain = evaluate_run(run)
    assert not plain.sets[0].typed and not (folder / f"{named}.robustness.json").exists()
    assert main(["evaluate", "--run", str(run.path), "--robustness"]) == 0
    shown = capsys.readouterr().out
    typed = {one["way"]: one for one in json.loads((folder / f"{named}.robustness.json").read_text("utf-8"))}
    assert list(typed) == list(WAYS)
    references = [list(side) for side in zip(*plain.sets[0].references, strict=True)]
    chrf = next(score.score for score in plain.scores if score.metric == "chrf")
    for way, one in typed.items():
        assert one["score"]["score"] == pytest.approx(sacrebleu.corpus_chrf(one["hypotheses"], references).score)
        assert one["loss"] == pytest.approx(chrf - one["score"]["score"])
        assert one["loss_interval"][0] <= one["loss_interval"][1]
        assert f" {way.replace('-', ' ')} " in shown and way.replace("-", " ") in (folder / "report.html").read_text()
    for way in ("capitals", "title-case", "lower-case", "no-final-punctuation"):  # the model folds case; no full stops
        assert (typed[way]["changed"], typed[way]["loss"], typed[way]["loss_interval"]) == (0, 0.0, [0.0, 0.0])
    assert typed["typos"]["changed"] > 0
    scores = json.loads((folder / "scores.json").read_text("utf-8"))
    assert (scores[0]["test_set"], scores[0]["metric"]) == ("toy", "bleu")
    assert {one["test_set"] for one in scores} == {"toy", *(f"toy.{way}" for way in WAYS)}
    events = EventAccumulator(str(run.tensorboard_folder))
    events.Reload()
    assert "test_by_set/toy.typos/chrf" in events.Tags()["scalars"]
    assert not list(folder.glob("*.partial.jsonl"))


def test_a_harmful_way_of_typing_has_a_positive_loss_and_interval() -> None:
    translator, _ = echo()
    plain = translated(["در باز است."] * 8, ["در باز است."] * 8, [f"The door {n} is open." for n in range(8)])
    found = measure_robustness(plain, translator, lambda texts, _: ["x"] * len(texts), samples=100)
    for one in (one for one in found if one.changed == 8):
        assert one.loss == 100.0 and one.loss_interval == (100.0, 100.0) and one.score.score == 0.0
    assert {one.way for one in found if one.changed == 8} >= {"capitals", "lower-case", "no-final-punctuation"}
    long, _ = echo(max_length=4)  # text is cut after a full stop only before a capital letter
    plain = translated(["a"], ["a"], ["One two. Three four."])
    lower = {one.way: one for one in measure_robustness(plain, long, lambda texts, _: list(texts), 40)}["lower-case"]
    assert lower.changed == 1

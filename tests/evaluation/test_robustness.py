"""The chrF lost when the source is typed differently: computed as by sacreBLEU, saved, shown in every output."""

import contextlib
import io
import json
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
import sacrebleu
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.support.echo_model import echo
from tests.support.tiny_runs import tiny_config
from tests.support.translated_sets import translated
from tests.support.untrained import untrained_run
from translator.cli import main
from translator.evaluation import Evaluation, evaluate_run
from translator.evaluation.robustness import WAYS, measure_robustness, with_noise
from translator.run.folder import RunFolder

FLAGS = ("evaluation.metrics=[bleu, chrf]",)


TYPED_TEXT = "He said: \"I don't know  NATO's plans for 2024.\""


def typed(way: str) -> str:
    return with_noise(TYPED_TEXT, way, Random(2))


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("capitals", "HE SAID: \"I DON'T KNOW  NATO'S PLANS FOR 2024.\""),
        ("title-case", "He Said: \"I Don't Know  Nato's Plans For 2024.\""),
        ("lower-case", "he said: \"i don't know  nato's plans for 2024.\""),
        ("no-final-punctuation", "He said: \"I don't know  NATO's plans for 2024\""),
    ],
)
def test_a_way_of_typing_changes_the_text_as_its_name_says(way: str, text: str) -> None:
    assert typed(way) == text


def test_typos_change_a_few_characters() -> None:
    assert typed("typos") != TYPED_TEXT
    assert abs(len(typed("typos")) - len(TYPED_TEXT)) <= 3


def test_quotes_are_curled_and_spaces_added() -> None:
    text = typed("quotes-and-spaces")
    assert " ".join(text.split()) == "He said: “I don’t know NATO’s plans for 2024.”"
    assert text.count(" ") > TYPED_TEXT.count(" ")


# --- the flag ---


@dataclass(frozen=True)
class Measured:
    """A run that was evaluated, and then again with `--robustness`."""

    run: RunFolder
    plain: Evaluation
    printed: str

    @property
    def losses(self) -> dict[str, Any]:
        """What is saved, by way of typing."""
        path = self.run.evaluation_folder / "toy" / "step-000005.greedy.json"
        return {entry["way"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))["noise"]}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    run = untrained_run(tiny_config(tmp_path_factory.mktemp("robustness"), *FLAGS))
    run.tensorboard_folder.mkdir()
    plain = evaluate_run(run)
    assert not plain.sets[0].noise, "nobody asked for it"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["evaluate", "--run", str(run.path), "--robustness"]) == 0
    return Measured(run=run, plain=plain, printed=printed.getvalue())


def test_every_way_of_typing_is_saved(measured: Measured) -> None:
    assert list(measured.losses) == list(WAYS)


@pytest.mark.parametrize("way", WAYS)
def test_the_loss_is_the_difference_of_two_chrf_scores(measured: Measured, way: str) -> None:
    saved = measured.losses[way]
    reference_sides = [list(side) for side in zip(*measured.plain.sets[0].text.references, strict=True)]
    expected_chrf = sacrebleu.corpus_chrf(saved["hypotheses"], reference_sides).score
    typed_chrf = saved["score"]["score"]
    assert typed_chrf == pytest.approx(expected_chrf)
    plain_chrf = next(score.score for score in measured.plain.scores if score.metric == "chrf")
    assert saved["loss"] == pytest.approx(plain_chrf - typed_chrf)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_typing_is_shown_on_the_console_and_on_the_page(measured: Measured, way: str) -> None:
    words = way.replace("-", " ")
    assert f" {words} " in measured.printed
    assert words in (measured.run.evaluation_folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("way", ["capitals", "title-case", "lower-case", "no-final-punctuation"])
def test_a_way_of_typing_that_the_model_does_not_see_loses_nothing(measured: Measured, way: str) -> None:
    """The model folds case, and no sentence ends with a full stop."""
    saved = measured.losses[way]
    assert saved["changed"] == 0
    assert saved["loss"] == 0.0
    assert saved["p_value"] == 1


def test_sentences_that_a_way_of_typing_changes_are_counted(measured: Measured) -> None:
    assert measured.losses["typos"]["changed"] > 0


def test_scores_of_the_ways_follow_bleu_of_the_plain_text(measured: Measured) -> None:
    scores = json.loads((measured.run.evaluation_folder / "scores.json").read_text(encoding="utf-8"))
    assert scores[0]["test_set"] == "toy"
    assert scores[0]["metric"] == "bleu"
    assert {score["test_set"] for score in scores} == {"toy", *(f"toy.{way}" for way in WAYS)}


def test_tensorboard_shows_the_scores_of_the_ways(measured: Measured) -> None:
    events = EventAccumulator(str(measured.run.tensorboard_folder))
    events.Reload()
    assert "test_by_set/toy.typos/chrf" in events.Tags()["scalars"]


def test_a_harmful_way_of_typing_has_a_significant_loss() -> None:
    # Plain text is translated perfectly, typed text as `x`.
    translator, _ = echo()
    sources = [f"The door {number} is open." for number in range(8)]
    plain = translated(["در باز است."] * 8, ["در باز است."] * 8, sources)
    losses = measure_robustness(plain, translator, lambda texts, numbers: ["x"] * len(texts))

    harmful = [loss for loss in losses if loss.changed == 8]
    assert {loss.way for loss in harmful} >= {"capitals", "lower-case", "no-final-punctuation"}
    for loss in harmful:
        assert loss.score.score == 0.0
        assert loss.loss == 100.0
        assert loss.p_value < 0.05


def test_a_text_that_is_divided_in_another_way_counts_as_changed() -> None:
    """A long text is cut after a full stop only before a capital letter."""
    translator, _ = echo(max_length=4)
    plain = translated(["a"], ["a"], ["One two. Three four."])
    losses = measure_robustness(plain, translator, lambda texts, numbers: texts)
    assert {loss.way: loss.changed for loss in losses}["lower-case"] == 1

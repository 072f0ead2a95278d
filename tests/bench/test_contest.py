"""The contest: tokens are counted rightly, everybody gets the same batches, and a lost process is told of."""

import io
import itertools
import json
from typing import Any

import pytest
from conftest import Recipe

from bench.contest import TUTORIAL, Contest, obey
from bench.contestants import OURS, Contestant, start_contestants
from bench.curves import format_curves, learning_curves
from bench.training import padding, ratios
from translator.data import DataHandler, DataPosition
from translator.errors import RunError


def asked(contest: Contest, *commands: dict[str, Any]) -> list[dict[str, float]]:
    answers = io.StringIO()
    obey(io.StringIO("".join(json.dumps(command) + "\n" for command in commands)), answers, contest)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


@pytest.mark.parametrize("name", [OURS, "nn.Transformer"])
def test_real_tokens_of_the_batches_of_training_are_counted(tiny: Recipe, name: str) -> None:
    config = tiny()
    train = {"do": "train", "steps": 2, "watched": False}
    first, second = asked(Contest(name, config), train, train)
    batches = [batch for batch, _ in itertools.islice(DataHandler(config).train_batches(DataPosition()), 4)]
    for answer, seen in ((first, batches[:2]), (second, batches[2:])):
        assert answer["target_tokens"] == sum(int((batch.labels != 0).sum()) for batch in seen)
        assert answer["tokens"] == answer["target_tokens"] + sum(int((batch.source != 0).sum()) for batch in seen)
        assert answer["positions"] == sum(batch.source.numel() + batch.labels.numel() for batch in seen)
        assert answer["seconds"] > 0 and answer["flops"] > 0 and "loss" not in answer


def test_beginning_again_gives_the_same_losses(tiny: Recipe) -> None:
    train = {"do": "train", "steps": 2, "watched": True}
    first, _, again = asked(Contest("nn.Transformer", tiny()), train, {"do": "begin"}, train)
    assert first["loss"] == again["loss"]


def test_the_tutorials_batches_hold_about_as_many_tokens_and_more_padding(tiny: Recipe) -> None:
    config = tiny()
    pairs = DataHandler(config).pair_count("train")
    batches = list(itertools.takewhile(lambda x: x[1].epoch == 0, DataHandler(config).train_batches(DataPosition())))
    steps = len(batches) + 1
    (theirs,) = asked(Contest(TUTORIAL, config), {"do": "train", "steps": steps, "watched": False})
    (ours,) = asked(Contest("nn.Transformer", config), {"do": "train", "steps": steps, "watched": False})
    assert pairs > 0
    assert theirs["target_tokens"] == pytest.approx(ours["target_tokens"], rel=0.15)
    assert padding([theirs]) > padding([ours])


def test_ratios_are_of_tokens_a_second() -> None:
    ours = [{"target_tokens": 100.0, "seconds": 1.0}, {"target_tokens": 90.0, "seconds": 3.0}]
    theirs = [{"target_tokens": 100.0, "seconds": 2.0}, {"target_tokens": 10.0, "seconds": 1.0}]
    assert ratios(ours, theirs) == pytest.approx([2.0, 3.0])


def test_a_process_takes_its_turns_and_is_missed_when_it_is_gone(
    tiny: Recipe, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tiny()
    curves = learning_curves([OURS], config, 5)
    assert [point["step"] for point in curves[OURS]] == [1, 2, 3, 4, 5]
    assert curves[OURS][-1]["training_loss"] < curves[OURS][0]["training_loss"]
    assert len(format_curves(curves)) == 2
    with start_contestants([OURS], config) as contestants:
        assert contestants[OURS].ask("memory")["bytes"] > 1e6
        with pytest.raises(RunError, match="the contestant `translator` ended with exit code 1"):
            contestants[OURS].ask("sing")
    assert "KeyError" in capfd.readouterr().err


def test_processes_are_ended_after_an_error(tiny: Recipe) -> None:
    with pytest.raises(ZeroDivisionError), Contestant("machine", tiny()) as contestant:
        assert contestant.running
        raise ZeroDivisionError
    assert not contestant.running

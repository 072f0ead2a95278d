"""Dropout that begins late: until then a step is that of a model without, and afterwards that of one with it."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import assert_same_bits, final, run

WITHOUT = ("model.dropout=0", "model.attention_dropout=0", "model.feed_forward_dropout=0")
WITH = ("model.dropout=0.3", "model.attention_dropout=0.2", "model.feed_forward_dropout=0.2")


def weights(tiny: Any, folder: Path, steps: int, *settings: str) -> dict[str, torch.Tensor]:
    """The weights after `steps` updates; validations, which leave evaluation mode, come after every other one."""
    length = (f"training.max_steps={steps}", "training.validate_every=2", "training.checkpoint_every=2")
    config = tiny(f"run.directory={folder}", "training.schedule=constant", *length, *settings)
    run(config)
    return final(config)


def test_before_it_begins_there_is_none(tiny: Any, tmp_path: Path) -> None:
    without = weights(tiny, tmp_path / "without", 5, *WITHOUT)
    assert_same_bits(weights(tiny, tmp_path / "late", 5, *WITH, "training.dropout_from=6"), without)
    sooner = weights(tiny, tmp_path / "sooner", 5, *WITH, "training.dropout_from=5")
    with pytest.raises(AssertionError):
        assert_same_bits(sooner, without)


def test_it_begins_with_the_named_update_also_in_a_run_that_goes_on(tiny: Any, tmp_path: Path) -> None:
    late = (*WITH, "training.dropout_from=4")
    whole = weights(tiny, tmp_path / "whole", 8, *late)
    for sitting in (3, 6, 8):
        resumed = weights(tiny, tmp_path / "resumed", sitting, *late)
    assert_same_bits(resumed, whole)


def test_from_the_first_update_on_is_always(tiny: Any, tmp_path: Path) -> None:
    always = weights(tiny, tmp_path / "always", 5, *WITH)
    assert_same_bits(weights(tiny, tmp_path / "first", 5, *WITH, "training.dropout_from=1"), always)


@pytest.mark.parametrize(
    ("settings", "said"), [(WITH, True), (WITHOUT, False), ((*WITHOUT, "training.r_drop=1"), True)]
)
def test_dropout_that_never_comes_is_said(
    tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, settings: tuple[str, ...], said: bool
) -> None:
    caplog.set_level(logging.WARNING, "translator")
    weights(tiny, tmp_path / "never", 2, *settings, "training.dropout_from=1000")
    assert said == any("training.dropout_from is 1,000 and training.max_steps 2" in line for line in caplog.messages)
    caplog.clear()
    weights(tiny, tmp_path / "at the end", 2, *settings, "training.dropout_from=2")
    assert not any("dropout_from" in line for line in caplog.messages)

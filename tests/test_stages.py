"""Stages are told to whoever asks, and to nobody else."""

import pytest

from translator.stages import collect_stages, stage


def test_stages_are_collected_in_the_order_in_which_they_end() -> None:
    with collect_stages() as stages, stage("outer"):
        with stage("inner"):
            pass
        with stage("next"):
            pass
    assert [one.name for one in stages] == ["inner", "next", "outer"]
    assert stages[2].seconds >= stages[0].seconds + stages[1].seconds


def test_a_stage_that_fails_is_not_told() -> None:
    with collect_stages() as stages, pytest.raises(ValueError), stage("broken"):
        raise ValueError
    assert stages == []


def test_without_a_collector_nothing_is_kept() -> None:
    with stage("alone"):
        pass
    with collect_stages() as stages:
        pass
    assert stages == []

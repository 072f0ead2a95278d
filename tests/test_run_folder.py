"""A run folder that goes on with other settings or on another machine: what it accepts, and what it writes down."""

import copy
from pathlib import Path
from typing import Any

import pytest

from translator.changes import NO_CHANGES
from translator.config import Config
from translator.errors import ConfigError, RunError
from translator.provenance import describe_environment
from translator.run_folder import RunFolder


def begun(config: Config) -> RunFolder:
    """Return the folder of a run that has a checkpoint, as far as names go."""
    run = RunFolder(Path(config.run.directory))
    run.write(config)
    (run.checkpoints_folder / "step-000004").mkdir(parents=True)
    return run


def test_harmless_changes_are_returned_and_others_refused(tiny: Any) -> None:
    run = begun(tiny())
    assert run.check(tiny()) == NO_CHANGES
    assert [change.key for change in run.check(tiny("training.log_every=7")).items] == ["training.log_every"]
    with pytest.raises(RunError, match=r"training\.learning_rate: 0\.0007 → 0\.5"):
        run.check(tiny("training.learning_rate=0.5"))


def test_what_is_allowed_is_recorded_and_from_then_on_the_run_s_own(tiny: Any) -> None:
    run = begun(tiny())
    changed = tiny("training.learning_rate=0.5", "batching.tokens_per_batch=300")
    changes = run.check(changed, allow_changed=True)
    run.write(changed)
    run.note_sitting({"written": "now"}, changes)
    assert run.sittings() == [
        {
            "written": "now",
            "changed": {
                "batching.tokens_per_batch": {"old": 200, "new": 300},
                "training.learning_rate": {"old": 0.0007, "new": 0.5},
            },
        }
    ]
    assert run.check(changed) == NO_CHANGES
    run.note_sitting({"written": "later"})
    assert run.sittings()[1] == {"written": "later"}


def test_asking_does_not_make_the_impossible_possible(tiny: Any) -> None:
    run = begun(tiny())
    with pytest.raises(RunError, match=r"because the weights belong to another network:\n  model\.d_model: 16 → 32"):
        run.check(tiny("model.d_model=32"), allow_changed=True)


def test_before_a_checkpoint_nothing_is_settled(tiny: Any) -> None:
    run = RunFolder(Path(tiny().run.directory))
    assert run.check(tiny()) == NO_CHANGES
    run.write(tiny())
    assert not run.has_checkpoint
    assert run.check(tiny("model.d_model=32")) == NO_CHANGES


def test_a_trained_run_takes_overrides_that_change_no_weights(tiny: Any) -> None:
    run = begun(tiny())
    assert run.config(["search.method=beam"]).search.method == "beam"
    with pytest.raises(ConfigError, match=r"a trained run cannot take these settings \(saved → given\):\n  model.drop"):
        run.config(["model.dropout=0.5"])


def test_a_mistake_in_an_override_is_not_blamed_on_the_file(tiny: Any) -> None:
    run = begun(tiny())
    with pytest.raises(ConfigError, match=r"^what is set for \S*run has 1 mistake:\n  --set search\.beam_size=0: "):
        run.config(["search.beam_size=0"])
    run.config_file.write_text("search: {beam_size: 0}", encoding="utf-8")
    with pytest.raises(RunError, match=r"the configuration saved in the run is not usable; .*config\.yaml has "):
        run.config(["search.beam_size=1"])


def test_another_machine_is_told(tiny: Any) -> None:
    run = begun(tiny())
    here = describe_environment()
    assert run.moved(here) == []
    run.note_sitting(here)
    assert run.moved(describe_environment()) == []
    there = copy.deepcopy(here)
    there["hardware"]["cpu"], there["versions"]["torch"] = "another", "9.9"
    told = run.moved(there)
    assert len(told) == 2
    assert f"versions.torch has changed: {here['versions']['torch']} → 9.9; the last bits" in told[0]
    assert "hardware.cpu has changed" in told[1]
    run.info_file.write_text('{"sittings": [1]}')
    assert run.moved(here) == []

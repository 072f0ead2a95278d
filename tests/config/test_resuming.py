"""Settings that change between two starts of a run: which are accepted, which need permission, which are refused."""

from pathlib import Path
from typing import Any

import pytest

from translator.config.resuming import NO_CHANGES, batch_settings, compare_settings, refusal

HERE = Path("runs/here")
COSINE = "training.schedule=cosine"
BY_MINUTES = (COSINE, "training.schedule_clock=minutes", "training.max_minutes=5")
LONGER = "training.max_steps=99"


@pytest.mark.parametrize(
    ("override", "kind", "moves_batches"),
    [
        ("training.max_steps=99", "free", False),
        ("run.threads=2", "free", False),
        ("search.method=beam", "free", False),
        ("corpus.sources.0.path=elsewhere.tsv", "free", False),
        ("corpus.sources.0.weight=2", "result", True),
        ("training.learning_rate=0.01", "result", False),
        ("batching.tokens_per_batch=300", "result", True),
        ("run.seed=2", "result", True),
        ("model.d_model=32", "refused", False),
        ("corpus.split.test=10", "refused", False),
        ("corpus.sources.1={name: more, path: more.tsv}", "refused", True),
        ("evaluation.test_sets=[{name: more, path: more.tsv}]", "refused", False),
    ],
)
def test_a_change_is_accepted_or_refused_as_declared(tiny: Any, override: str, kind: str, moves_batches: bool) -> None:
    old, new = tiny(), tiny(override)
    assert (batch_settings(old) != batch_settings(new)) == moves_batches
    changes = compare_settings(old, new)
    assert kind in [change.effect.value for change in changes]
    assert (refusal(changes, HERE, allow_changed=False) is None) == (kind == "free")
    assert (refusal(changes, HERE, allow_changed=True) is None) == (kind != "refused")


def test_refusal_gives_the_command_that_accepts_the_changes(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = compare_settings(tiny(COSINE), tiny(COSINE, LONGER))
    monkeypatch.setattr("sys.argv", ["/bin/translator", "train", "--config", "my recipe.yaml", "--set", LONGER])
    message = refusal(changes, HERE, allow_changed=False) or ""
    command = "translator train --config 'my recipe.yaml' --set training.max_steps=99 --allow-changed"
    assert f"\nto accept them, run: {command}\n" in message


def test_refusal_gives_no_such_command_where_a_change_is_never_accepted(tiny: Any) -> None:
    changes = compare_settings(tiny(COSINE), tiny(COSINE, LONGER, "model.d_model=32"))
    message = refusal(changes, HERE, allow_changed=False)
    assert message is not None
    assert "--allow-changed" not in message.splitlines()[-1]
    assert "to accept them" not in message


def test_absolute_and_relative_forms_of_a_path_count_as_no_change(tiny: Any) -> None:
    here = Path.cwd()
    relative = tiny("corpus.prepared_directory=prepared", "corpus.sources.0.path=toy.tsv")
    absolute = tiny(f"corpus.prepared_directory={here}/prepared", f"corpus.sources.0.path={here}/toy.tsv")
    assert compare_settings(absolute, relative) == NO_CHANGES


@pytest.mark.parametrize(
    ("schedule", "override", "words"),
    [
        ((COSINE,), LONGER, "training.max_steps: 12 → 99"),
        (
            BY_MINUTES,
            "training.max_minutes=9",
            "training.max_minutes: 5.0 → 9.0",
        ),
    ],
)
def test_a_new_limit_needs_permission_under_a_cosine_schedule(
    tiny: Any, schedule: tuple[str, ...], override: str, words: str
) -> None:
    changes = compare_settings(tiny(*schedule), tiny(*schedule, override))
    message = refusal(changes, HERE, allow_changed=False)
    assert message is not None
    assert words in message


def test_a_new_limit_is_harmless_where_the_new_schedule_does_not_depend_on_it(tiny: Any) -> None:
    changes = compare_settings(tiny(COSINE), tiny("training.schedule=constant", LONGER))
    assert [change.key for change in changes if change.effect.value == "free"] == ["training.max_steps"]


def test_refusal_lists_every_change_and_says_what_to_do(tiny: Any) -> None:
    new = tiny("model.d_model=32", "subword.vocabulary_size=50", "training.learning_rate=0.5", "training.log_every=2")
    message = refusal(compare_settings(tiny(), new), HERE, allow_changed=False)
    assert message is not None
    assert message.splitlines() == [
        "runs/here contains a run with different settings (old → new)",
        "an existing run cannot change these:",
        "  subword.vocabulary_size: 60 → 50",
        "  model.d_model: 16 → 32",
        "these change the result of training and need --allow-changed:",
        "  training.learning_rate: 0.0007 → 0.5",
        "restore the old settings, or start a new run with the new ones (run.directory=runs/OTHER); "
        "training.initialize_from=runs/here starts it from these weights, as far as they fit",
    ]


def test_settings_that_are_off_are_among_those_of_the_batches(tiny: Any) -> None:
    values = batch_settings(tiny())
    assert values["run.seed"] == 1
    assert values["subword.sampling"] == 0.0
    assert values["training.augmentation.typos"] == 0.0
    assert "training.learning_rate" not in values

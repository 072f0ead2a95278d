"""Settings that change between two starts of a run: which are accepted, which need permission, which are refused."""

from pathlib import Path
from typing import Any

import pytest

from translator.config.resuming import batch_settings, compare_settings, refusal

HERE = Path("runs/here")
COSINE = "training.schedule=cosine"
BY_MINUTES = (COSINE, "training.schedule_clock=minutes", "training.max_minutes=5")
LONGER = "training.max_steps=99"


@pytest.mark.parametrize(
    ("override", "kind", "moves_batches"),
    [
        (LONGER, "free", False),
        ("search.method=beam", "free", False),
        ("corpus.sources.0.path=elsewhere.tsv", "free", False),
        ("corpus.sources.0.weight=2", "result", True),
        ("training.learning_rate=0.01", "result", False),
        ("batching.tokens_per_batch=300", "result", True),
        ("run.seed=2", "result", True),
        ("training.augmentation.typos=0.1", "result", True),
        ("model.d_model=32", "refused", False),
        ("corpus.sources.1={name: more, path: more.tsv}", "refused", True),
        ("evaluation.test_sets=[{name: more, path: more.tsv}]", "refused", False),
    ],
)
def test_a_change_is_accepted_or_refused_as_declared(tiny: Any, override: str, kind: str, moves_batches: bool) -> None:
    words = ("subword.model_type=bpe",)  # characters cannot be sampled
    old, new = tiny(*words), tiny(*words, override)
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


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ((COSINE,), (COSINE, LONGER), "training.max_steps: 12 → 99"),
        (BY_MINUTES, (*BY_MINUTES, "training.max_minutes=9"), "training.max_minutes: 5.0 → 9.0"),
        ((COSINE,), ("training.schedule=constant", LONGER), None),
    ],
    ids=["steps", "minutes", "the new schedule does not depend on it"],
)
def test_a_new_limit_needs_permission_if_the_schedule_ends_there(
    tiny: Any, old: tuple[str, ...], new: tuple[str, ...], words: str | None
) -> None:
    changes = compare_settings(tiny(*old), tiny(*new))
    message = refusal(changes, HERE, allow_changed=False) or ""
    assert words is None or words in message
    assert ("training.max_steps" in message or "training.max_minutes" in message) == (words is not None)

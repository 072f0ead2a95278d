"""Settings that change between two sittings: which may, which may when asked for, which never."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from translator.changes import EFFECTS, NO_CHANGES, batch_order, compare_settings
from translator.config import Config
from translator.config.section import Section, section_in

HERE = Path("runs/here")


def keys_of(section: type[Section], prefix: str = "") -> Iterator[str]:
    """Yield every key of a section and of those inside it; a list of sections is a key too."""
    for name, field in section.model_fields.items():
        inner = section_in(field.annotation)
        if inner is None or not isinstance(field.annotation, type):
            yield prefix + name
        if inner is not None:
            yield from keys_of(inner, f"{prefix}{name}.")


def test_every_key_of_a_recipe_is_decided_on() -> None:
    keys = list(keys_of(Config))
    assert {"run.seed", "corpus.sources", "corpus.sources.weight", "corpus.filters.duplicates"} <= set(keys)
    assert sorted(set(keys) - EFFECTS.keys()) == [], "decide in translator/changes.py what a change of these does"
    assert sorted(EFFECTS.keys() - set(keys)) == [], "these are no longer keys of a recipe"
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("override", "kind"),
    [
        ("training.log_every=7", "harmless"),
        ("training.max_steps=99", "harmless"),
        ("training.keep_best=2", "harmless"),
        ("training.processes=2", "harmless"),
        ("run.threads=2", "harmless"),
        ("search.method=beam", "harmless"),
        ("evaluation.metrics=[chrf]", "harmless"),
        ("corpus.sources.0.path=elsewhere.tsv", "harmless"),
        ("corpus.sources.0.weight=2", "inexact"),
        ("training.learning_rate=0.01", "inexact"),
        ("training.accumulation_steps=2", "inexact"),
        ("training.precision=bf16", "inexact"),
        ("training.best_metric=loss", "inexact"),
        ("model.dropout=0.3", "inexact"),
        ("batching.tokens_per_batch=300", "inexact"),
        ("run.seed=2", "inexact"),
        ("model.d_model=32", "impossible"),
        ("subword.vocabulary_size=50", "impossible"),
        ("corpus.normalization.digits=ascii", "impossible"),
        ("corpus.split.test=10", "impossible"),
        ("corpus.sources.1={name: more, path: more.tsv}", "impossible"),
        ("evaluation.test_sets=[{name: more, path: more.tsv}]", "impossible"),
    ],
)
def test_what_a_change_does(tiny: Any, override: str, kind: str) -> None:
    changes = compare_settings(tiny(), tiny(override))
    kinds = [change.effect.kind for change in changes.items]
    assert kind in kinds
    assert (changes.refusal(HERE, allow_changed=False) is None) == (kind == "harmless")
    assert (changes.refusal(HERE, allow_changed=True) is None) == (kind != "impossible")


def test_nothing_changed_is_nothing_to_say(tiny: Any) -> None:
    assert compare_settings(tiny(), tiny()) == NO_CHANGES
    assert NO_CHANGES.lines == []
    assert NO_CHANGES.refusal(HERE, allow_changed=False) is None


def test_the_cosine_looks_ahead_to_the_last_step(tiny: Any) -> None:
    cosine, longer = "training.schedule=cosine", "training.max_steps=99"
    refusal = compare_settings(tiny(cosine), tiny(cosine, longer)).refusal(HERE, allow_changed=False)
    assert refusal is not None
    assert "training.max_steps: 12 → 99 (the cosine schedule looks ahead to it)" in refusal
    by_time = (cosine, "training.schedule_clock=minutes", "training.max_minutes=5")
    refusal = compare_settings(tiny(*by_time), tiny(*by_time, "training.max_minutes=9")).refusal(
        HERE, allow_changed=False
    )
    assert refusal is not None
    assert "training.max_minutes: 5.0 → 9.0 (cosine and dropout look ahead to it)" in refusal
    left = compare_settings(tiny(cosine), tiny("training.schedule=constant", longer))
    assert [change.key for change in left.of_kind("harmless")] == ["training.max_steps"]


def test_the_log_and_the_record_name_each_change(tiny: Any) -> None:
    changes = compare_settings(tiny(), tiny("training.log_every=7", "run.threads=2"))
    assert changes.lines == [
        "changed since the last sitting: run.threads: 1 → 2 (sums are taken in another order, so the last bits differ "
        "from here on)",
        "changed since the last sitting: training.log_every: 3 → 7",
    ]
    assert changes.to_json()["training.log_every"] == {"old": 3, "new": 7}


def test_a_refusal_lists_all_and_says_what_to_do(tiny: Any) -> None:
    new = tiny("model.d_model=32", "subword.vocabulary_size=50", "training.learning_rate=0.5", "training.log_every=2")
    message = compare_settings(tiny(), new).refusal(HERE, allow_changed=False)
    assert message is not None
    assert message.splitlines() == [
        "runs/here holds a run with other settings (old → new)",
        "these cannot change in a run, because the weights belong to another vocabulary:",
        "  subword.vocabulary_size: 60 → 50",
        "these cannot change in a run, because the weights belong to another network:",
        "  model.d_model: 16 → 32",
        "these change what training comes to, and are taken only with --allow-changed:",
        "  training.learning_rate: 0.0007 → 0.5",
        "restore the old settings, or give the new ones a run of their own (run.directory=runs/OTHER); with "
        "training.initialize_from=runs/here it starts from these weights, as far as they fit",
    ]


@pytest.mark.parametrize(
    ("override", "moves"),
    [
        ("run.seed=2", True),
        ("batching.tokens_per_batch=300", True),
        ("batching.temperature=2", True),
        ("corpus.sources.0.weight=2", True),
        ("training.accumulation_steps=2", False),
        ("training.learning_rate=0.5", False),
        ("run.directory=elsewhere", False),
    ],
)
def test_what_moves_the_batches_is_told_from_what_does_not(tiny: Any, override: str, moves: bool) -> None:
    assert (batch_order(tiny()) != batch_order(tiny(override))) == moves

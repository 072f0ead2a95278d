"""What several keys keep together is told key by key, beside all other mistakes, and holds for code as well."""

from typing import Any

import pytest

from translator.config import (
    BatchingConfig,
    Config,
    CorpusConfig,
    ModelConfig,
    SourceConfig,
    SubwordConfig,
    parse_config,
    rules,
)
from translator.errors import ConfigError

RUN = "run: {directory: runs/x}\n"
MINIMAL = RUN + "corpus: {sources: [{name: a, path: a.zip}]}\n"


def mistakes(text: str, *overrides: str) -> list[str]:
    """Return the lines of the message, its heading left out."""
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "recipe.yaml", overrides)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "source_path: x",
            "source_path: `source_path` and `target_path` go together; `target_path` is missing",
        ),
        (
            "target_path: x",
            "target_path: `source_path` and `target_path` go together; `source_path` is missing",
        ),
        ("max_pairs: 5", "give either `path` or both `source_path` and `target_path`"),
        (
            "path: x, source_path: y, target_path: z",
            "path: give either `path` or both `source_path` and `target_path`, not all three",
        ),
        (
            "path: x, source_member: y",
            "source_member: `source_member` and `target_member` go together; `target_member` is missing",
        ),
        (
            "source_path: x, target_path: y, source_member: p, target_member: q",
            "source_member: `source_member` and `target_member` name members of a zip given as `path`",
        ),
    ],
)
def test_the_layout_of_a_source(source: str, expected: str) -> None:
    joint = ": " if expected.startswith("give") else "."
    text = RUN + "corpus:\n  sources:\n    - {name: a, path: b}\n    - {name: b, " + source + "}\n"
    assert mistakes(text) == [f"line 5: corpus.sources.1{joint}{expected}"]


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (
            "subword:\n  byte_fallback: true\n  model_type: char\n",
            "line 4: subword.byte_fallback: `byte_fallback: true` does not go with `model_type: char`",
        ),
        (
            "subword:\n  byte_fallback: true\n  vocabulary_size: 260\n",
            "line 5: subword.vocabulary_size: `byte_fallback` takes 256 pieces; "
            "raise `vocabulary_size` (260) above 260",
        ),
        (
            "evaluation:\n  test_sets: [{name: t, path: t.tsv, use: train}]\n",
            "line 4: evaluation.test_sets.0.use: `use` means nothing in a test set; leave it out",
        ),
        (
            "evaluation:\n  test_sets: [{name: t, path: t.tsv, weight: 2}]\n",
            "line 4: evaluation.test_sets.0.weight: `weight` means nothing in a test set; leave it out",
        ),
        (
            "subword:\n  sampling: 0.1\n  model_type: char\n",
            "line 4: subword.sampling: `sampling` (0.1) does not go with `model_type: char`, "
            "which cuts a text in one way only; use 0",
        ),
        ("model:\n  d_model: 12\n", "line 4: model.d_model: `heads` (8) must divide `d_model` (12)"),
        ("model:\n  d_model: 12\n  heads: 5\n", "line 5: model.heads: `heads` (5) must divide `d_model` (12)"),
        (
            "model:\n  heads: 3\n  d_model: 15\n",
            "line 5: model.d_model: `positions: sinusoidal` needs an even `d_model`, not 15",
        ),
        (
            "model:\n  heads: 4\n  d_model: 12\n  positions: rotary\n",
            "line 4: model.heads: `positions: rotary` needs an even `d_model / heads`, not 12 / 4 = 3",
        ),
        (
            "training:\n  schedule_clock: minutes\n  max_minutes: 5\n",
            "line 4: training.schedule_clock: `schedule_clock: minutes` goes with `schedule: cosine`; "
            "`inverse_sqrt` has no end",
        ),
        (
            "training:\n  schedule: cosine\n  schedule_clock: minutes\n",
            "line 5: training.schedule_clock: `schedule_clock: minutes` needs `max_minutes`",
        ),
        (
            "model:\n  tied_embeddings: all\n",
            "line 4: model.tied_embeddings: `model.tied_embeddings: all` needs `subword.joint: true`, which is false",
        ),
        (
            "model:\n  max_positions: 100\n",
            "line 4: model.max_positions: `batching.max_length` (256) must not exceed `model.max_positions` (100)",
        ),
        (
            "batching:\n  tokens_per_batch: 100\n",
            "line 4: batching.tokens_per_batch: `tokens_per_batch` (100) must be at least `max_length` (256)",
        ),
    ],
)
def test_a_broken_rule_stands_at_the_key_that_is_written(sections: str, expected: str) -> None:
    assert mistakes(MINIMAL + sections) == [expected]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
@pytest.mark.parametrize("size", [8, 260, 999, 1000, 8000])
def test_bytes_that_nobody_asked_for_break_no_rule(kind: str, size: int) -> None:
    config = SubwordConfig.model_validate({"model_type": kind, "vocabulary_size": size})
    assert config.byte_fallback is None


def test_characters_are_not_sampled() -> None:
    rule = rules.several_segmentations
    ((keys, reason),) = rule.mistakes({"sampling": 0.1, "model_type": "char"})
    assert keys == ("sampling", "model_type")
    assert reason == "`sampling` (0.1) does not go with `model_type: char`, which cuts a text in one way only; use 0"
    assert not rule.mistakes({"sampling": 0.0, "model_type": "char"})
    assert not rule.mistakes({"sampling": 0.1, "model_type": "bpe"})


def test_a_broken_rule_stands_at_the_override_that_broke_it() -> None:
    text = MINIMAL + "model:\n  d_model: 64\n  heads: 8\n"
    assert mistakes(text, "model.d_model=60") == [
        "--set model.d_model=60: model.d_model: `heads` (8) must divide `d_model` (60)"
    ]


def test_two_sources_of_one_name() -> None:
    text = RUN + "corpus:\n  sources:\n    - {name: a, path: a.zip}\n    - {name: a, path: b.zip, use: test}\n"
    assert mistakes(text) == [
        "line 5: corpus.sources.1.name: two sources are called `a`; one name may stand once for each split at most"
    ]
    config = parse_config(text, "recipe.yaml", ["corpus.sources.0.use=train"])
    assert [source.name for source in config.corpus.sources] == ["a", "a"]


def test_a_test_set_of_a_taken_name() -> None:
    text = MINIMAL + (
        "evaluation:\n  test_sets:\n    - {name: a, path: x}\n    - {name: b, path: x}\n    - {name: b, path: y}\n"
    )
    assert mistakes(text) == [
        "line 5: evaluation.test_sets.0.name: `a` is taken; choose another name (corpus.sources.0 has it)",
        "line 7: evaluation.test_sets.2.name: `b` is taken; choose another name (evaluation.test_sets.1 has it)",
    ]


def test_broken_rules_are_told_beside_wrong_keys_and_beside_each_other() -> None:
    text = (
        "run: {seed: -1}\n"
        "corpus:\n"
        "  sources:\n"
        "    - {name: a, path: a.zip}\n"
        "    - {name: a, path: a.zip}\n"
        "    - {name: b c, source_path: x}\n"
        "model:\n"
        "  heads: 7\n"
        "  dropout: 2\n"
        "  tied_embeddings: all\n"
        "evaluation: {test_sets: [{name: a, path: x}, 5]}\n"
    )
    assert [": ".join(line.split(": ")[:2]) for line in mistakes(text)] == [
        "line 1: run.directory",
        "line 1: run.seed",
        "line 5: corpus.sources.1.name",
        "line 6: corpus.sources.2.name",
        "line 6: corpus.sources.2.source_path",
        "line 8: model.heads",
        "line 9: model.dropout",
        "line 10: model.tied_embeddings",
        "line 11: evaluation.test_sets.1",
        "line 11: evaluation.test_sets.0.name",
    ]


@pytest.mark.parametrize(
    ("sections", "wrong"),
    [
        ("model: {heads: x, d_model: 15, positions: learned}", "model.heads"),
        ("model: {tied_embeddings: all}\nsubword: {joint: 1}", "subword.joint"),
        ("model: {tied_embeddings: all}\nsubword: [joint]", "subword"),
        ("model: {tied_embeddings: all}\nsubword: {jiont: true}", "subword.jiont"),
        ("model: {tied_embeddings: all}\nsubwrod: {joint: true}", "subwrod"),
    ],
)
def test_no_rule_guesses_at_a_wrong_or_misspelt_key(sections: str, wrong: str) -> None:
    (mistake,) = mistakes(MINIMAL + sections)
    assert mistake.split(": ")[1] == wrong


@pytest.mark.parametrize(
    ("section", "values", "expected"),
    [
        (SourceConfig, {"name": "a"}, "give either `path` or both"),
        (CorpusConfig, {"sources": [{"name": "a", "path": "a"}] * 2}, "two sources are called `a`"),
        (SubwordConfig, {"byte_fallback": True, "vocabulary_size": 200}, "above 260"),
        (ModelConfig, {"heads": 7}, "must divide"),
        (BatchingConfig, {"tokens_per_batch": 10}, "must be at least"),
    ],
)
def test_sections_made_in_code_keep_the_rules(section: type[Any], values: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        section(**values)


def test_a_whole_configuration_made_in_code_keeps_the_rules() -> None:
    values = parse_config(MINIMAL, "recipe.yaml").model_dump()
    values["model"]["tied_embeddings"] = "all"
    values["batching"]["max_length"] = 2000
    with pytest.raises(ValueError, match=r"needs `subword\.joint: true`, which is false; .* must not exceed"):
        Config.model_validate(values)

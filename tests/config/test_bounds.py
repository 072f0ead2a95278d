"""Every number of a recipe has a largest and a smallest value, and every path is one that a system can open."""

from collections.abc import Iterator
from typing import Any

import pytest

from translator.config import Config, parse_config
from translator.errors import ConfigError

MINIMAL = "run: {directory: runs/x}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"


def mistakes(*overrides: str) -> list[str]:
    """Return the lines of the message, its heading left out."""
    with pytest.raises(ConfigError) as caught:
        parse_config(MINIMAL, "recipe.yaml", overrides)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def numbers(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each part of a JSON schema that describes a number, with its path."""
    if isinstance(schema, dict):
        if schema.get("type") in ("integer", "number"):
            yield path, schema
        for key, value in schema.items():
            yield from numbers(value, f"{path}.{key}")
    elif isinstance(schema, list):
        for item in schema:
            yield from numbers(item, path)


def test_every_number_is_bounded_on_both_sides() -> None:
    found = list(numbers(Config.model_json_schema()))
    assert len(found) > 30
    for path, schema in found:
        assert {"minimum", "exclusiveMinimum"} & schema.keys(), path
        assert {"maximum", "exclusiveMaximum"} & schema.keys(), path


@pytest.mark.parametrize(
    ("key", "largest"),
    [
        ("run.threads", 1024),
        ("model.d_model", 65_536),
        ("model.encoder_layers", 1000),
        ("model.decoder_layers", 1000),
        ("model.feed_forward", 1_000_000),
        ("model.max_positions", 1_000_000),
        ("search.beam_size", 1000),
        ("search.length_penalty", 10),
        ("search.max_length_ratio", 100),
        ("training.max_steps", 2**31 - 1),
        ("training.learning_rate", 100),
    ],
)
def test_the_largest_value(key: str, largest: int) -> None:
    parse_config(MINIMAL, "recipe.yaml", [f"{key}={largest}"])
    assert mistakes(f"{key}={largest + 1}") == [
        f"--set {key}={largest + 1}: {key}: expected a number of at most {largest}, got {largest + 1}"
    ]


@pytest.mark.parametrize("key", ["run.threads", "training.learning_rate", "run.directory", "model.norm", "run.device"])
def test_a_number_too_long_to_be_written_in_decimal(key: str) -> None:
    (mistake,) = mistakes(f"{key}=0x{'f' * 5000}")
    assert "0xfff" in mistake.partition(f": {key}: ")[2]


def test_the_number_of_a_gpu() -> None:
    assert parse_config(MINIMAL, "r", ["run.device=cuda:127"]).run.device == "cuda:127"
    (mistake,) = mistakes("run.device='cuda:1000'")
    assert "run.device: expected `auto`, `cpu`, `cuda` or `cuda:N`" in mistake


@pytest.mark.parametrize(
    "key",
    ["run.directory", "corpus.prepared_directory", "corpus.sources.0.path"]
    + [f"corpus.sources.0.{name}" for name in ("source_path", "target_path", "source_member", "target_member")],
)
def test_a_path_that_no_system_can_open(key: str) -> None:
    empty, nul = f'{key}=""', f'{key}="/tmp/a\\0b"'
    assert any(found == f"--set {empty}: {key}: must not be empty" for found in mistakes(empty))
    reason = r"expected a path without NUL characters, got '/tmp/a\x00b'"
    assert any(found == f"--set {nul}: {key}: {reason}" for found in mistakes(nul))

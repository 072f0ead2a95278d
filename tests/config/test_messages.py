"""Every mistake in a value is told in words of the recipe, not of the library that found it."""

import pytest

from translator.config import parse_config
from translator.errors import ConfigError

MINIMAL = "run: {directory: runs/x}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"


def mistakes(text: str) -> list[str]:
    """Return the lines of the message, its heading left out."""
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "recipe.yaml")
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("model: {heads: 0}", "model.heads: expected a number of at least 1, got 0"),
        ("model: {heads: 2.5}", "model.heads: expected a valid integer, got 2.5 (number)"),
        ("model: {heads: 8.0}", "model.heads: expected a valid integer, got 8.0 (number)"),
        ("model: {dropout: 1}", "model.dropout: expected a number less than 1, got 1"),
        ("model: {dropout: high}", "model.dropout: expected a number, got 'high' (text)"),
        ("model: {norm: off}", "model.norm: false (truth value) is not one of 'pre' or 'post'"),
        ("training: {learning_rate: 0}", "training.learning_rate: expected a number greater than 0, got 0"),
        ("training: {learning_rate: .inf}", "training.learning_rate: expected a finite number, got .inf"),
        ("training: {weight_decay: -.inf}", "training.weight_decay: expected a finite number, got -.inf"),
        ("search: {length_penalty: .nan}", "search.length_penalty: expected a finite number, got .nan"),
        ("subword: {character_coverage: 2}", "subword.character_coverage: expected a number of at most 1, got 2"),
        ("subword: {joint: 'yes'}", "subword.joint: expected true or false, got 'yes' (text)"),
        ("subword: {joint: }", "subword.joint: expected true or false, got null"),
        ("evaluation: {metrics: bleu}", "evaluation.metrics: expected a list, got 'bleu' (text)"),
        ("evaluation: {metrics: {bleu: 1}}", "evaluation.metrics: expected a list, got a section"),
        ("evaluation: {metrics: []}", "evaluation.metrics: must not be empty: give the list at least one item"),
        (
            "training: {processes: two}",
            "training.processes: 'two' (text) is not one of 'auto'; or else: expected a valid integer",
        ),
        ("search:", "search: this section is empty; give it keys or leave it out"),
        ("search: greedy", "search: expected a section of keys, got 'greedy' (text)"),
        ("search: [greedy]", "search: expected a section of keys, got a list"),
        (
            "search: {7: 1}",
            "search.7: unknown key; known here: method, beam_size, length_penalty, length_normalization",
        ),
    ],
)
def test_a_wrong_value(section: str, expected: str) -> None:
    (mistake,) = mistakes(MINIMAL + section)
    assert mistake.startswith(f"line 3: {expected}")


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ('directory: ""', "run.directory: must not be empty"),
        ("directory: 5", "run.directory: expected text, got 5 (number); put it in quotes"),
        ("directory: 2020-01-01", "run.directory: expected text, got 2020-01-01; put it in quotes"),
        ("directory: [a]", "run.directory: expected text, got a list"),
        ("seed: 1", "run.directory: this key is required"),
        ("directory: x, seed: 4294967296", "run.seed: expected a number less than 4294967296, got 4294967296"),
        ("directory: x, device: gpu", "run.device: expected `auto`, `cpu`, `cuda` or `cuda:N`, got 'gpu'"),
    ],
)
def test_a_wrong_value_of_the_run(run: str, expected: str) -> None:
    assert mistakes("run: {" + run + "}\ncorpus: {sources: [{name: a, path: a.zip}]}") == [f"line 1: {expected}"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a.zip", "corpus.sources.0: expected a section of keys, got 'a.zip' (text)"),
        ("{path: a.zip}", "corpus.sources.0.name: this key is required"),
        ("{name: -a, path: a.zip}", "corpus.sources.0.name: expected letters, digits, `_`, `-` and `.`, the first a"),
        ("{name: " + "a" * 61 + ", path: b}", "corpus.sources.0.name: expected at most 60 characters, got 61"),
        ("{name: a, source_path: b}", "corpus.sources.0.source_path: `source_path` and `target_path` go together"),
    ],
)
def test_a_bad_item_is_not_called_a_list_too_short(source: str, expected: str) -> None:
    (mistake,) = mistakes(f"run: {{directory: x}}\ncorpus:\n  sources:\n    - {source}\n")
    assert mistake.startswith(f"line 4: {expected}")


def test_a_list_without_items_is_too_short() -> None:
    text = "run: {directory: x}\ncorpus: {sources: []}\n"
    assert mistakes(text) == ["line 2: corpus.sources: must not be empty: give the list at least one item"]


def test_a_very_long_value_is_cut() -> None:
    (mistake,) = mistakes(MINIMAL + f"model: {{heads: {'x' * 200}}}")
    assert mistake.endswith("'" + "x" * 56 + "... (text)")

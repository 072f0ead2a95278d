"""An override is told by its own words when it cannot be put into the recipe."""

import pytest

from translator.config import parse_config
from translator.errors import ConfigError

MINIMAL = "run: {directory: runs/x, seed: 1}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"


def mistakes(*overrides: str) -> list[str]:
    """Return the lines of the message, its heading left out."""
    with pytest.raises(ConfigError) as caught:
        parse_config(MINIMAL, "recipe.yaml", overrides)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


@pytest.mark.parametrize("path", ["a..b", ".", ".run", "run.", "run.seed.", "run. .seed", ".."])
def test_a_path_with_an_empty_key(path: str) -> None:
    (mistake,) = mistakes(f"{path}=1")
    assert mistake.startswith(f"--set {path}=1: a key is missing before or after a dot; write it as key.path=value")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("modle.heads=4", "modle: unknown key; did you mean `model`?"),
        ("trainer.max.steps=4", "trainer: unknown key"),
        ("run.7=4", "run.7: unknown key; known here: directory, seed, device, threads"),
        ("corpus.sources.1.path=x", "corpus.sources.1.name: this key is required"),
        ("evaluation.metrics.0=bleu", "evaluation.metrics: expected a list, got a section"),
        (f"corpus.sources.{'9' * 5000}.path=x", "corpus.sources is a list of 1; name an item by number from 0"),
        ("model.heads={a: 1, a: 2}", "line 1: a: this key stands twice in its section; keep one"),
    ],
)
def test_a_mistake_stands_at_the_override_that_made_it(override: str, expected: str) -> None:
    found = mistakes(override)[0]
    where = override if len(override) <= 200 else override[:197] + "..."
    assert found.startswith(f"--set {where}: {expected}")


def test_an_override_into_a_written_section_leaves_its_lines_alone() -> None:
    assert [found.split(": ")[0] for found in mistakes("run.seed=-1", "corpus.sources.0.use=x")] == [
        "--set run.seed=-1",
        "--set corpus.sources.0.use=x",
    ]
    text = "run: {directory: runs/x}\ncorpus:\n  sources: [{name: a, path: a.zip, use: x}]\n"
    with pytest.raises(ConfigError, match=r"line 3: corpus\.sources\.0\.use"):
        parse_config(text, "recipe.yaml", ["corpus.sources.0.path=b.zip"])


def test_endless_brackets_are_one_mistake() -> None:
    (mistake,) = mistakes("run.seed=" + "[" * 3000)
    assert mistake.startswith("--set run.seed=[[[")
    assert "[...: the value is nested too deeply; take out the needless brackets" in mistake
    assert len(mistake) < 400


def test_aliases_of_aliases_in_a_value_are_one_mistake() -> None:
    levels = ", ".join(f"&l{number} [*l{number - 1}, *l{number - 1}]" for number in range(1, 40))
    (mistake,) = mistakes(f"model.heads=[&l0 [x], {levels}]")
    assert "the value is too long: more than 10,000 keys and items" in mistake

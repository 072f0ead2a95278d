"""YAML that would hang or exhaust the loader is refused, and no alias shares its section with another."""

import pytest

from translator.config import parse_config
from translator.errors import ConfigError

MINIMAL = "run: {directory: runs/x}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "recipe.yaml")
    return str(caught.value)


def laughs(first: str, level: str) -> str:
    """Return a recipe of 30 anchors, each a `level` of the one before it."""
    lines = [f"l0: &l0 {first}"]
    lines += [f"l{number}: &l{number} " + level.replace("*", f"*l{number - 1}") for number in range(1, 30)]
    return MINIMAL + "\n".join(lines)


@pytest.mark.parametrize(
    ("first", "level"),
    [
        ("[x]", "[*, *, *]"),
        ("{a: x}", "{a: *, b: *}"),
        ("{a: x}", "{a: *, a: *}"),
        ("{a: x}", "{<<: [*, *]}"),
    ],
)
def test_aliases_of_aliases_are_refused(first: str, level: str) -> None:
    assert problem(laughs(first, level)) == (
        "recipe.yaml: too long: more than 10,000 keys and items, aliases written out"
    )


def test_aliases_of_aliases_are_refused_as_keys() -> None:
    assert "line 4: not valid YAML: a list or a section cannot be a key" in problem(laughs("[x]", "{[*, *]: x}"))


def test_many_plain_sources_are_no_such_thing() -> None:
    sources = ", ".join(f"{{name: s{number}, path: a.zip}}" for number in range(1000))
    config = parse_config(f"run: {{directory: x}}\ncorpus: {{sources: [{sources}]}}", "recipe.yaml")
    assert len(config.corpus.sources) == 1000


@pytest.mark.parametrize("text", ["model: " + "[" * 3000, "model: &a {heads: *a}", "model: &a [*a]"])
def test_endless_nesting_is_refused(text: str) -> None:
    message = problem(MINIMAL + text)
    assert message.startswith("recipe.yaml: nested too deeply; take out the needless brackets")


@pytest.mark.parametrize(
    "value",
    ["!!bool x", "!!timestamp x", "!!int ''", "1" + ":00" * 200 + ".5", "1" * 5000, "2020-13-45", "!!nothing x"],
)
def test_what_the_yaml_library_cannot_build_is_not_valid(value: str) -> None:
    assert "not valid YAML" in problem(MINIMAL + f"model: {{heads: {value}}}")


def test_an_override_of_one_alias_leaves_the_others_alone() -> None:
    text = (
        "run: {directory: x}\n"
        "corpus:\n"
        "  sources:\n"
        "    - &a {name: a, path: a.zip}\n"
        "evaluation:\n"
        "  test_sets:\n"
        "    - *a\n"
        "    - *a\n"
    )
    config = parse_config(text, "r", ["evaluation.test_sets.0.name=b", "evaluation.test_sets.1.name=c"])
    assert [source.name for source in (*config.corpus.sources, *config.evaluation.test_sets)] == ["a", "b", "c"]


def test_neither_do_aliases_inside_an_override_share() -> None:
    overrides = [
        "evaluation.test_sets=[&a {name: b, path: x}, *a]",
        "evaluation.test_sets.1.name=c",
    ]
    config = parse_config(MINIMAL, "r", overrides)
    assert [source.name for source in config.evaluation.test_sets] == ["b", "c"]

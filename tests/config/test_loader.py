"""A configuration is either right, or all its mistakes are told at once."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.config import Config, load_config, parse_config, resolved_yaml
from translator.errors import ConfigError

CONFIGS = Path(__file__).parents[2] / "configs"
MINIMAL = "run: {directory: runs/x}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"


def problems(text: str, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "recipe.yaml", overrides)
    return str(caught.value)


def test_every_shipped_recipe_is_valid() -> None:
    recipes = sorted(CONFIGS.rglob("*.yaml"))
    assert len(recipes) >= 6
    for recipe in recipes:
        assert load_config(recipe).run.directory.startswith("runs/")


def test_every_key_of_a_shipped_recipe_is_commented() -> None:
    key = re.compile(r"^ +(- )?[a-z_]+:")
    for recipe in CONFIGS.rglob("*.yaml"):
        text = recipe.read_text(encoding="utf-8")
        assert text.startswith("# "), recipe
        bare = [line for line in text.splitlines() if key.match(line) and "#" not in line]
        assert not bare, (recipe, bare)


def test_run_directories_of_the_recipes_differ() -> None:
    directories = [load_config(recipe).run.directory for recipe in CONFIGS.rglob("*.yaml")]
    assert len(set(directories)) == len(directories)


def test_all_mistakes_are_reported_together_with_their_lines() -> None:
    message = problems(
        "run: {directory: runs/x}\n"
        "corpus:\n"
        "  sources:\n"
        "    - {name: a, path: a.zip}\n"
        "    - {name: b, pth: b.zip}\n"
        "training:\n"
        "  max_stepz: 5\n"
        '  warmup_steps: "9"\n'
        "  schedule: cosin\n"
        "beam_size: 3\n"
    )
    assert message.startswith("recipe.yaml has 5 mistakes:")
    assert "line 5: corpus.sources.1.pth: unknown key; did you mean `path`?" in message
    assert "line 7: training.max_stepz: unknown key; did you mean `max_steps`?" in message
    assert "line 8: training.warmup_steps: expected a valid integer, got '9' (text)" in message
    assert "line 9: training.schedule: 'cosin' (text) is not one of 'inverse_sqrt', 'cosine' or 'constant'" in message
    assert "line 10: beam_size: unknown key; did you mean `search.beam_size`?" in message


def test_mistakes_stand_in_the_order_of_their_lines() -> None:
    message = problems(MINIMAL + "model: {heads: 0}\nsearch: {beam: 5}\nbatching: {max_length: x}\n")
    assert [line.split(":")[0].strip() for line in message.splitlines()[1:]] == ["line 3", "line 4", "line 5"]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "training.max_stepz=5",
            "--set training.max_stepz=5: training.max_stepz: unknown key; did you mean `max_steps`?",
        ),
        ("training.max_steps=abc", "training.max_steps: expected a valid integer, got 'abc' (text)"),
        ("training.max_steps", "write it as key.path=value"),
        ("corpus.sources.7.path=x", "corpus.sources is a list of 1"),
        ("run.seed.x=1", "run.seed is a single value, it has no keys inside"),
        ("model.heads=7", "`heads` (7) must divide `d_model` (512)"),
        ("model.d_model=[1", "the value is not valid YAML"),
        ("model.tied_embeddings=all", "needs `subword.joint: true`"),
        ("batching.max_length=5000", "`batching.max_length` (5000) must not exceed `model.max_positions` (1024)"),
        ("run.device=gpu", "run.device: expected `auto`, `cpu`, `cuda` or `cuda:N`, got 'gpu'"),
        ("corpus.sources.0.source_path=x", "`source_path` and `target_path` go together"),
        ("subword.vocabulary_size=null", "subword.vocabulary_size: expected a valid integer, got null"),
    ],
)
def test_overrides_are_checked_like_the_file(override: str, expected: str) -> None:
    assert expected in problems(
        "run: {directory: runs/x, seed: 1}\ncorpus: {sources: [{name: a, path: a.zip}]}\n", override
    )


def test_overrides_reach_into_lists_and_make_missing_sections() -> None:
    config = parse_config(
        MINIMAL,
        "recipe.yaml",
        [
            "corpus.sources.0.path=b.zip",
            "corpus.sources.1.name=c",
            "corpus.sources.1.path=c.zip",
            "training.max_steps=7",
        ],
    )
    assert [source.path for source in config.corpus.sources] == ["b.zip", "c.zip"]
    assert config.training.max_steps == 7


def test_a_number_like_1e_4_is_a_number() -> None:
    assert parse_config(MINIMAL + "training: {learning_rate: 1e-4}\n", "r").training.learning_rate == 1e-4
    assert parse_config(MINIMAL, "r", ["training.learning_rate=3E-4"]).training.learning_rate == 3e-4


def test_a_key_written_twice_is_refused() -> None:
    message = problems(MINIMAL + "training:\n  max_steps: 1\n  max_steps: 2\n")
    assert "line 5: training.max_steps: this key stands twice" in message


def test_not_yaml_at_all() -> None:
    assert "recipe.yaml: line 2, column 1: not valid YAML" in problems("run: {directory: x\n")
    assert "expected sections" in problems("- 1\n- 2\n")
    assert "run: this key is required" in problems("")


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "there.yaml").write_text(MINIMAL)
    with pytest.raises(ConfigError, match=r"no configuration file at .*nope\.yaml; there is: .*there\.yaml"):
        load_config(tmp_path / "nope.yaml")
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        load_config(tmp_path)


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"run: \xff\xfe")
    with pytest.raises(ConfigError, match=r"bad\.yaml: not UTF-8 text \(byte 5\)"):
        load_config(tmp_path / "bad.yaml")


@pytest.mark.parametrize("recipe", sorted(CONFIGS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_the_resolved_configuration_reads_back_equal(recipe: Path) -> None:
    config = load_config(recipe)
    assert parse_config(resolved_yaml(config), "resolved") == config


def test_a_configuration_is_frozen() -> None:
    config = parse_config(MINIMAL, "r")
    with pytest.raises(ValueError, match="frozen"):
        config.run.seed = 3


@given(st.text(max_size=60))
def test_no_text_makes_the_loader_crash(text: str) -> None:
    try:
        assert isinstance(parse_config(text, "r"), Config)
    except ConfigError as error:
        assert str(error)


@given(st.text(alphabet='runcopsi.=0123[]{},: &*!<?\n"\\', max_size=40))
def test_no_override_makes_the_loader_crash(override: str) -> None:
    try:
        assert isinstance(parse_config(MINIMAL, "r", [override]), Config)
    except ConfigError as error:
        assert str(error)

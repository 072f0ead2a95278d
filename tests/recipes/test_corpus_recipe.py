"""The recipe that is chosen for a corpus: a plan from its size, the text of the recipe, and a vocabulary that suits."""

from pathlib import Path

import pytest

from translator.config import SourceConfig, load_config, parse_config
from translator.config.loading import config_of
from translator.recipes.corpus_recipe import CorpusSize, plan_settings
from translator.recipes.recipe_text import recipe_text

RECIPE, SOURCE = Path("runs/my.yaml"), SourceConfig(name="my", path="my.tsv")


@pytest.mark.parametrize("gpu", [False, True])
def test_chosen_model_and_training_sizes_grow_with_the_corpus(gpu: bool) -> None:
    choices_by_size = []
    for pairs in (500, 3000, 70_000, 10**6):
        size = CorpusSize(pairs=pairs, words=14 * pairs)
        _, choices = plan_settings(RECIPE, [SOURCE], size, gpu=gpu)
        choices_by_size.append({choice.key: choice.value for choice in choices})
    for key in ("subword.vocabulary_size", "model.d_model", "training.max_steps"):
        values = [float(values_by_key[key]) for values_by_key in choices_by_size]
        assert values == sorted(values), key
        assert values[0] < values[-1], key


def test_settings_for_a_million_words_are_about_those_of_the_tuned_recipe() -> None:
    tuned = load_config("cpu-small")
    size = CorpusSize(pairs=70_000, words=980_000)
    _, choices = plan_settings(RECIPE, [SOURCE], size, gpu=False)
    for choice in choices:
        section, name = choice.key.split(".")
        tuned_value = getattr(getattr(tuned, section), name)
        assert choice.value == pytest.approx(tuned_value, rel=0.1), choice.key


SIZE = CorpusSize(pairs=900, words=9000)


@pytest.mark.parametrize(("gpu", "direction"), [(True, "en-fa"), (False, "en-fa"), (False, "fa-en")])
def test_the_text_of_a_recipe_has_its_settings(gpu: bool, direction: str) -> None:
    folder = "my: 'odd' \\1 # \"folder\" پوشهٔ من"
    sources = [
        SourceConfig(name="my", path=f"{folder}/my.tsv"),
        SourceConfig(name="b", source_path=f"{folder}/b.en", target_path=f"{folder}/b.fa", max_pairs=5),
    ]
    file = Path(folder) / "my+b.yaml"
    values, choices = plan_settings(file, sources, SIZE, gpu=gpu, direction=direction)
    text = recipe_text("Two lines\nof a title", values, choices)
    assert text.startswith("# Two lines\n# of a title\n")
    assert f"  d_model: {256 if gpu else 128}                  # fits the size of the corpus\n" in text
    config = parse_config(text, "text")
    assert config == config_of(values, "values")
    assert config.run.directory == str(Path(folder) / "my+b")
    assert config.corpus.direction == direction
    # Several corpora have tags.
    assert list(config.corpus.sources) == [source.model_copy(update={"tag": True}) for source in sources]
    # Typing errors are of English input.
    assert config.training.augmentation.typos == (0 if gpu or direction == "fa-en" else 0.1)

"""Labels of search settings: every setting that can change a translation changes the label, so no results mix."""

from typing import get_args

import pytest

from translator.config import SearchConfig
from translator.evaluation import search_label

METHODS = ("greedy", "beam", "sampling")
# For each method, the settings that a label leaves out.
SAME_TEXT = {"batch_size", "processes"}  # they change the speed of a search, not what it chooses
OF_A_BEAM = {
    "beam_size",
    "length_penalty",
    "length_normalization",
    "rerank",
}  # elsewhere they change scores at most, not texts
OF_SAMPLING = {"temperature", "top_k", "top_p", "seed"}  # only samples depend on them
UNNAMED = {
    "greedy": SAME_TEXT | OF_A_BEAM | OF_SAMPLING,
    "beam": SAME_TEXT | OF_SAMPLING,
    "sampling": SAME_TEXT | OF_A_BEAM,
}


def other_value(key: str) -> object:
    """Return a value of the setting `key` that is not its default."""
    default = getattr(SearchConfig(), key)
    choices = get_args(SearchConfig.model_fields[key].annotation)
    if choices:
        return next(choice for choice in choices if choice != default)
    if isinstance(default, bool):
        return not default
    return default + 1 if isinstance(default, int) else 0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_label_names_every_setting_but_the_listed_ones(method: str) -> None:
    config = SearchConfig.model_validate({"method": method})
    unnamed = set()
    for key in SearchConfig.model_fields.keys() - {"method"}:
        if search_label(config.model_copy(update={key: other_value(key)})) == search_label(config):
            unnamed.add(key)
    assert unnamed == UNNAMED[method]


@pytest.mark.parametrize(
    ("settings", "label"),
    [
        ({"method": "greedy"}, "greedy"),
        ({"beam_size": 2, "length_penalty": 0.6, "max_length_ratio": 3}, "beam-2-penalty-0.6-ratio-3"),
        ({"method": "sampling", "temperature": 0.7, "top_k": 9, "seed": 4}, "sampling-seed-4-temperature-0.7-top-k-9"),
    ],
)
def test_search_labels_tell_settings_apart(settings: dict[str, object], label: str) -> None:
    config = SearchConfig.model_validate({"precision": "float32", **settings})
    whole = config.model_copy(update={"split_sentences": False})
    assert search_label(whole) == label
    assert search_label(whole, "ctranslate2") == f"{label}-ctranslate2"
    assert search_label(config) == f"{label}-by-sentence"

"""Short names of search settings, which tell the results of an evaluation apart in file names."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from translator.config import SearchConfig

_SHARED_PREFIXES: Final = {
    "max_length_ratio": "ratio-",
    "min_length_ratio": "min-ratio-",
    "no_repeat_ngram": "no-repeat-",
    "avoid_loops": "loops-",
    "correct_spelling": "spelling-",
    "orthography": "orthography-",
    "glossary": "glossary-",
    "tag": "tag-",
    "precision": "",
}
_PREFIXES: Final[Mapping[str, Mapping[str, str]]] = {
    "greedy": _SHARED_PREFIXES,
    "beam": {
        "length_penalty": "penalty-",
        "length_normalization": "",
        "rerank": "rerank-",
        **_SHARED_PREFIXES,
    },
    "sampling": {"temperature": "temperature-", "top_k": "top-k-", "top_p": "top-p-", **_SHARED_PREFIXES},
}
"""By search method: the settings that a label names if they differ from the defaults, with their prefixes.

tests/evaluation/test_search_labels.py lists the settings that a label leaves out, with the reasons.
"""


def search_label(config: SearchConfig, engine: str = "") -> str:
    """Return a short name of all search settings, and of an explicitly chosen engine, for use in file names.

    Without `by-sentence`, lines are translated whole.
    """
    # The method, with the one setting that always counts.
    parts: list[str] = [config.method]
    if config.method == "beam":
        parts.append(str(config.beam_size))
    elif config.method == "sampling":
        parts.append(f"seed-{config.seed}")

    # Settings at their defaults are not named, so that labels stay short. The default of the precision is `auto`, but
    # `config` has the precision that `auto` stands for; of these, float32 is not named.
    defaults = SearchConfig(precision="float32")
    for key, prefix in _PREFIXES[config.method].items():
        value = getattr(config, key)
        if value == getattr(defaults, key):
            continue
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        if key in ("glossary", "rerank"):  # paths: the name without folder and ending, in signs that suit a file name
            shown = re.sub(r"[^\w-]+", "-", Path(shown).stem)
        parts.append(f"{prefix}{shown}".lower())

    if config.split_sentences:
        parts.append("by-sentence")
    if engine:
        parts.append(engine)
    return "-".join(parts)

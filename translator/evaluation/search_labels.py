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
    """Return a short name of the method, of the settings that are not defaults, and of the engine, for file names.

    A name without `by-sentence` stands for lines that are translated whole.
    """
    # The method, with the one setting that always counts.
    parts: list[str] = [config.method]
    if config.method == "beam":
        parts.append(str(config.beam_size))
    elif config.method == "sampling":
        parts.append(f"seed-{config.seed}")

    # Settings at their defaults are not named, so that labels stay short. The precision has no fixed default:
    # `config` has the precision that was chosen for `auto`. So float32 counts as the default here.
    defaults = SearchConfig(precision="float32")
    for key, prefix in _PREFIXES[config.method].items():
        value = getattr(config, key)
        if value == getattr(defaults, key):
            continue
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        is_path = key in ("glossary", "rerank")
        if is_path:  # its name without folder and ending, in signs that suit a file name
            shown = re.sub(r"[^\w-]+", "-", Path(shown).stem)
        parts.append(f"{prefix}{shown}".lower())

    if config.split_sentences:
        parts.append("by-sentence")
    if engine:
        parts.append(engine)
    return "-".join(parts)

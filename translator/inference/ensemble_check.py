"""Which runs can be combined into an ensemble: those whose tokens have the same meanings."""

from collections.abc import Sequence

from translator.config import Config
from translator.errors import RunError
from translator.run.folder import RunFolder
from translator.subword import SubwordPair


def check_ensemble(runs: Sequence[RunFolder], configs: Sequence[Config], subwords: Sequence[SubwordPair]) -> None:
    """Raise RunError, naming files or keys, if subword models or normalization differ from the first run's."""
    first_hashes = subwords[0].sha256
    first_rules = _text_rules(configs[0])
    for run, config, subword in zip(runs, configs, subwords, strict=True):
        differences = {
            "subword models": _differing_keys(first_hashes, subword.sha256),
            "normalization": _differing_keys(first_rules, _text_rules(config)),
        }
        for subject, keys in differences.items():
            if keys:
                raise RunError(
                    f"{runs[0].path} and {run.path} cannot be combined: they differ in {subject} ({', '.join(keys)}), "
                    "so the same token has different meanings; use runs trained on the same prepared corpus"
                )


def _text_rules(config: Config) -> dict[str, object]:
    """Return the settings that decide what a text is to the model, by key path."""
    rules: dict[str, object] = {"corpus.direction": config.corpus.direction}
    for key, value in config.corpus.normalization.model_dump(mode="json").items():
        rules[f"corpus.normalization.{key}"] = value
    return rules


def _differing_keys(ours: dict[str, object] | dict[str, str], theirs: dict[str, object] | dict[str, str]) -> list[str]:
    return sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))

"""Which runs can be combined into an ensemble: those whose tokens have the same meanings."""

from collections.abc import Sequence

from translator.config import Config
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.errors import RunError
from translator.run.folder import RunFolder
from translator.subword import SubwordPair


def check_ensemble(runs: Sequence[RunFolder], configs: Sequence[Config], subwords: Sequence[SubwordPair]) -> None:
    """Raise RunError, naming files or keys, if subword models or normalization differ from the first run's."""
    first_hashes = subwords[0].sha256
    first_rules = _text_rules(runs[0], configs[0])
    for run, config, subword in zip(runs, configs, subwords, strict=True):
        differences = {
            "subword models": _differing_keys(first_hashes, subword.sha256),
            "normalization": _differing_keys(first_rules, _text_rules(run, config)),
        }
        for subject, keys in differences.items():
            if keys:
                raise RunError(
                    f"{runs[0].path} and {run.path} cannot be combined: they differ in {subject} ({', '.join(keys)}), "
                    "so the same token has different meanings; use runs trained on the same prepared corpus"
                )


def _text_rules(run: RunFolder, config: Config) -> dict[str, object]:
    """Return what decides what a text is to the model: settings by key path, and the hash of the normalizer's rules."""
    rules: dict[str, object] = {"corpus.direction": config.corpus.direction}
    for key, value in config.corpus.normalization.model_dump(mode="json").items():
        rules[f"corpus.normalization.{key}"] = value
    rules[run.normalizer_file.name] = rules_of_run(run).sha256
    return rules


def _differing_keys(ours: dict[str, object] | dict[str, str], theirs: dict[str, object] | dict[str, str]) -> list[str]:
    return sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))

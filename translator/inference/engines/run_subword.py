"""The subword models of runs: those of a checkpoint, and equal in an ensemble."""

from collections.abc import Sequence

from translator.checkpoint.state import CheckpointState, check_normalizer
from translator.config import Config
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.errors import CheckpointError, RunError
from translator.run.folder import RunFolder
from translator.subword import SubwordPair


def load_subword(run: RunFolder, state: CheckpointState) -> SubwordPair:
    """Return the subword models of `run`; raise CheckpointError if they, or the rules, are not those of `state`."""
    check_normalizer(state, rules_of_run(run), run.path)
    subword = SubwordPair.load(run.subword_folder)
    if subword.sha256 != state.subword:
        raise CheckpointError(
            f"the subword models in {run.subword_folder} are not those that checkpoint `{state.name}` was trained "
            "with (checksums differ); restore the whole run folder from a copy"
        )
    rules = run.config().corpus.normalization.model_dump(mode="json")
    changed_keys = [key for key, value in state.normalization.items() if rules.get(key) != value]
    if changed_keys:
        raise CheckpointError(
            f"corpus.normalization in {run.config_file} is not what checkpoint `{state.name}` was trained with "
            f"({', '.join(changed_keys)}); restore the file from a copy"
        )
    return subword


def check_ensemble(runs: Sequence[RunFolder], configs: Sequence[Config], subwords: Sequence[SubwordPair]) -> None:
    """Raise RunError if subword models or normalization of a run differ from the first run's."""
    first = _meaning_of_tokens(runs[0], configs[0], subwords[0])
    for run, config, subword in zip(runs, configs, subwords, strict=True):
        for subject, value in _meaning_of_tokens(run, config, subword).items():
            if value != first[subject]:
                raise RunError(
                    f"{runs[0].path} and {run.path} cannot be combined: they differ in {subject}, so the same "
                    "token has different meanings; use runs trained on the same prepared corpus"
                )


def _meaning_of_tokens(run: RunFolder, config: Config, subword: SubwordPair) -> dict[str, object]:
    """Return all that decides which text a token stands for."""
    return {
        "corpus.direction": config.corpus.direction,
        "subword models": subword.sha256,
        "corpus.normalization": config.corpus.normalization,
        "normalization rules": rules_of_run(run).sha256,
    }

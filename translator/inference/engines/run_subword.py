"""The subword models of runs: those of a checkpoint, and equal in an ensemble."""

from collections.abc import Sequence

from translator.checkpoint.state import CheckpointState, PinnedCheckpoint, check_normalizer
from translator.config import Config
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.errors import CheckpointError, RunError
from translator.run.folder import RunFolder
from translator.subword import SubwordPair


def load_subword(run: RunFolder, state: CheckpointState) -> SubwordPair:
    """Return the subword models of `run`.

    Raises CheckpointError: they, the rules of the normalizer or its settings are not those that `state` names.
    """
    check_normalizer(state, rules_of_run(run), run.path)
    subword = SubwordPair.load(run.subword_folder)
    if subword.sha256 != state.subword:
        raise CheckpointError(
            f"the subword models in {run.subword_folder} are not those that checkpoint `{state.name}` was trained "
            "with (checksums differ); restore the whole run folder from a copy"
        )
    settings = run.config().corpus.normalization.model_dump(mode="json")
    changed_keys = [key for key, value in state.normalization.items() if settings.get(key) != value]
    if changed_keys:
        raise CheckpointError(
            f"corpus.normalization in {run.config_file} is not what checkpoint `{state.name}` was trained with "
            f"({', '.join(changed_keys)}); restore the file from a copy"
        )
    return subword


def load_shared_subword(
    runs: Sequence[RunFolder], configs: Sequence[Config], checkpoints: Sequence[PinnedCheckpoint]
) -> SubwordPair:
    """Return the subword models of a run, or of the first run of an ensemble.

    The subword models of all runs have the same ids. Only their word counts, which correct the spelling of a source,
    may differ.

    Raises RunError: the runs differ in direction, ids or normalization, so a token may stand for another text.
    """
    subwords = []
    meanings = []  # of each run: all that decides for which text a token stands
    for run, config, checkpoint in zip(runs, configs, checkpoints, strict=True):
        subword = load_subword(run, checkpoint.state)
        subwords.append(subword)
        rules = (checkpoint.state.normalizer, config.corpus.normalization)
        meanings.append((config.corpus.direction, subword.sha256, rules))
        if meanings[-1] != meanings[0]:
            raise RunError(
                f"{runs[0].path} and {run.path} cannot be combined: they differ in direction, subword models or "
                "normalization; use runs trained on the same prepared corpus"
            )
    return subwords[0]

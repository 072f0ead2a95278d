"""The subword models of a run, checked against a checkpoint."""

from translator.checkpoint.state import CheckpointState, check_normalizer
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.errors import CheckpointError
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

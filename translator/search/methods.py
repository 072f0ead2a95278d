"""The search that a configuration asks for.

B batch, S source length
"""

from collections.abc import Sequence

from torch import Tensor

from translator.config import SearchConfig
from translator.errors import CheckpointError, ConfigError, InputError
from translator.search.beam import beam_search
from translator.search.constraints import Constraint
from translator.search.forced_prefix import ForcedPrefix
from translator.search.greedy import greedy_search
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import LengthPenalty
from translator.search.lengths import longest_outputs, room_for_prefixes, shortest_outputs
from translator.search.minimum_length import MinimumLength
from translator.search.model import SearchModel, State
from translator.search.no_repeat_ngram import NoRepeatNgram
from translator.search.sampling import Distribution, sample


def search(
    model: SearchModel[State],
    source: Tensor,
    config: SearchConfig,
    *,
    count: int = 1,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Return the best hypotheses for each row of `source`, in the order of the rows, best first.

    Args:
        model: what gives the probabilities.
        source: (B, S) int64 ids, EOS at the end, filled with PAD.
        config: how to search.
        count: hypotheses for each row; fewer come back only where no more exist. Sampling draws so many.
        prefixes: for each row the ids that its hypotheses must begin with, without SOS; their log-probabilities count.

    Raises:
        ConfigError: the method cannot find `count` hypotheses.
        InputError: a prefix is too long, or has tokens that stand for no text.
        CheckpointError: the model's probabilities are not numbers.
    """
    check_count(config, count)
    longest = longest_outputs(source, config.max_length_ratio, model.max_positions)
    if prefixes is not None:
        assert len(prefixes) == len(source)
        longest = room_for_prefixes(longest, prefixes, model.max_positions)
    constraints = _constraints(source, config, longest, prefixes)
    penalty = LengthPenalty.of(config)
    if config.method == "greedy":
        found = [[hypothesis] for hypothesis in greedy_search(model, source, longest, penalty, constraints)]
    elif config.method == "beam":
        found = beam_search(model, source, longest, config.beam_size, penalty, count, constraints)
    else:
        distribution = Distribution(config.temperature, config.top_k, config.top_p)
        found = sample(model, source, longest, distribution, config.seed, count, penalty, constraints)
    if any(not hypotheses or hypotheses[0].score != hypotheses[0].score for hypotheses in found):
        raise CheckpointError(
            "the model gives probabilities that are not numbers (NaN): its training has diverged; take an earlier "
            "checkpoint"
        )
    return found


def check_count(config: SearchConfig, count: int) -> None:
    """Raise ConfigError where the method of `config` cannot find `count` hypotheses, InputError where nothing could."""
    if count < 1:
        raise InputError(f"{count} translations of a sentence cannot be found; ask for 1 or more")
    if config.method == "greedy" and count > 1:
        raise ConfigError(
            f"`search.method: greedy` finds one translation of a sentence, not {count}; use `search.method: beam`"
        )
    if config.method == "beam" and count > config.beam_size:
        raise ConfigError(
            f"a beam of {config.beam_size} cannot find {count} translations of a sentence; "
            f"set `search.beam_size` to {count} or more"
        )


def _constraints(
    source: Tensor, config: SearchConfig, longest: Tensor, prefixes: Sequence[Sequence[int]] | None
) -> list[Constraint]:
    """Return the constraints that are switched on; what is forced goes before all others, so it comes last."""
    constraints: list[Constraint] = []
    if config.min_length_ratio > 0:
        constraints.append(MinimumLength(shortest_outputs(source, config.min_length_ratio, longest)))
    if config.no_repeat_ngram > 0:
        constraints.append(NoRepeatNgram(config.no_repeat_ngram))
    if prefixes is not None and any(prefixes):
        constraints.append(ForcedPrefix(prefixes, source.device))
    return constraints

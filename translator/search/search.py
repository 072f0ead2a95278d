"""`search`: the hypotheses that a configuration asks for, by greedy search, beam search or sampling.

B sentences, S source length
"""

import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.search.beam import beam_search
from translator.search.constraints import Constraints
from translator.search.greedy import greedy_search
from translator.search.hypothesis import Hypothesis, Rows, check_count
from translator.search.output_lengths import output_limits
from translator.search.search_model import SearchModel, State
from translator.search.token_sampling import sample_hypotheses
from translator.special_tokens import PAD


def search(
    model: SearchModel[State],
    source: Tensor,
    config: SearchConfig,
    count: int = 1,
    prefixes: Rows | None = None,
    *,
    no_doubles: bool = False,
) -> list[list[Hypothesis]]:
    """Return the best hypotheses for each row of `source`, in the order of the rows, best first.

    Args:
        model: a `Transformer` in evaluation mode, an `Ensemble`, or any other `SearchModel`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        config: the search settings.
        count: hypotheses per row; fewer are returned only if no more exist. With sampling, the number of draws.
        prefixes: for each row, the ids (without SOS) that begin its hypotheses. Scores include their log-probabilities.
        no_doubles: forbid that a token follows itself.

    Raises ConfigError: the method cannot find `count` hypotheses.
    """
    check_count(config, count)
    if len(source) == 0:
        return []

    # 1. Limit the outputs.
    source_lengths = (source != PAD).sum(dim=1).tolist()
    limits = output_limits(source_lengths, config, model.max_positions, prefixes, no_doubles=no_doubles)
    longest = torch.tensor(limits.longest, device=source.device)  # (B,)
    constraints = Constraints(limits, source.device) if limits.exclude_tokens else None

    # 2. Search.
    if config.method == "beam":
        return beam_search(model, source, longest, config, count, constraints)
    if config.method == "greedy":
        return greedy_search(model, source, longest, config, constraints)
    return sample_hypotheses(model, source, longest, config, count, constraints)

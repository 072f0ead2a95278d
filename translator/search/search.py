"""`search`: the hypotheses that a configuration asks for, by greedy search, beam search or sampling.

B sentences, S source length
"""

from dataclasses import replace

import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.core import PAD
from translator.core.hypothesis import Hypothesis, Rows
from translator.core.search import SearchModel, State, beam_search
from translator.search.constraints import Constraints
from translator.search.output_lengths import check_count, output_limits
from translator.search.token_sampling import sample_hypotheses
from translator.speed.top_k import top_k_on


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
    if config.method == "sampling":
        return sample_hypotheses(model, source, longest, config, count, constraints)
    # A beam of one is greedy search.
    settings = config.settings if config.method == "beam" else replace(config.settings, beam_size=1)
    return beam_search(model, source, longest, settings, count, constraints, top_k_on(source.device))

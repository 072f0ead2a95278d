"""The search of a batch of ids, as the torch engine does it."""

from typing import Any

import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.core import PAD
from translator.core.hypothesis import Hypothesis, Rows
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.search.request import SearchRequest


def search(
    model: Any, source: Tensor, config: SearchConfig, count: int = 1, prefixes: Rows = ()
) -> list[list[Hypothesis]]:
    """Return up to `count` hypotheses for each row of `source` (B, S) int64, ended by EOS and padded with PAD."""
    rows = [row[row != PAD][:-1].tolist() for row in source]
    return TorchSearcher([model], torch.device("cpu")).find(SearchRequest(rows, config, count, prefixes))

"""The loop that greedy search and sampling share: each path grows by one token per step.

B sentences, n of them unfinished, W paths of each sentence, R = n * W rows, S source length, V vocabulary, L steps
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.search.constraints import Constraints
from translator.search.continuations import log_probabilities_of
from translator.search.hypothesis import Hypothesis
from translator.search.search_model import SearchModel, State
from translator.search.waiting import reads_ends
from translator.special_tokens import EOS, PAD, SOS

ChooseTokens = Callable[[Tensor, Tensor | None, Tensor, int], Tensor]
"""Returns the next tokens (R,) int64. Arguments: logits (R, V) float32; mask (R, V) bool, True = forbidden, or None to
forbid PAD, UNK and SOS; sentence indices (n,) int64, W rows for each; path length in tokens, this one included.
"""


class PathStep(NamedTuple):
    """The tokens that one step has added to the paths of the unfinished sentences."""

    sentences: Tensor  # (n,) int64 indices
    tokens: Tensor  # (R,) int64
    log_probabilities: Tensor  # (R, 1) float32


@torch.inference_mode()
def follow_paths(
    model: SearchModel[State],
    source: Tensor,
    longest: Tensor,
    choose: ChooseTokens,
    config: SearchConfig,
    width: int = 1,
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """Return W hypotheses for each row of `source`, in the order of the rows, best first.

    A sentence leaves the batch when all its paths have ended.

    Args:
        model: a `Transformer` in evaluation mode, an `Ensemble`, or any other `SearchModel`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        longest: (B,) int64, maximum output length in tokens, EOS included; at least 1.
        choose: picks the next token of each path.
        config: gives the length penalty.
        width: W, the paths of each sentence.
        constraints: what each path may not say; None forbids PAD, UNK and SOS.
    """
    device = source.device
    limits = longest.to(device)  # (n,)
    sentences = torch.arange(len(source), device=device)  # (n,) indices of the unfinished sentences
    slots = torch.arange(width, device=device)  # (W,)
    has_ended = torch.zeros(len(source), width, dtype=torch.bool, device=device)  # (n, W)
    tokens = source.new_full((len(source) * width,), SOS)  # (R,)
    produced = source.new_empty(len(tokens), 0)  # (R, tokens so far), only for the constraints
    steps: list[PathStep] = []
    state = model.start(source, width)
    for length in range(1, int(longest.max()) + 1):
        # 1. Add the chosen token to each path. A path that has ended stays with its sentence.
        logits = model.step(tokens, state).float()  # (R, V)
        forbidden = None
        if constraints is not None:
            forbidden = constraints.forbidden(produced, sentences.repeat_interleave(width), logits.size(1))
        tokens = choose(logits, forbidden, sentences, length)
        log_probabilities = log_probabilities_of(tokens.unsqueeze(1), logits)
        steps.append(PathStep(sentences=sentences, tokens=tokens, log_probabilities=log_probabilities))
        if constraints is not None:
            produced = torch.cat((produced, tokens.unsqueeze(1)), dim=1)

        # 2. Find the sentences that go on: a path has not ended, and the length limit is not reached.
        has_ended |= tokens.view(-1, width) == EOS
        if not reads_ends(length, device):
            continue  # what a path says after its end is cut off later
        going = (~has_ended.all(dim=1) & (limits > length)).nonzero().squeeze(1)  # (n',) indices into `sentences`
        if len(going) == 0:
            break

        # 3. Let the others leave the batch.
        if len(going) < len(sentences):
            sentences = sentences[going]
            limits = limits[going]
            has_ended = has_ended[going]
            rows = (going.unsqueeze(1) * width + slots).flatten()  # (R',)
            tokens = tokens[rows]
            produced = produced[rows]
            state.select(rows)
    return _hypotheses(steps, longest.tolist(), width, config)


def _hypotheses(
    steps: Sequence[PathStep], limits: Sequence[int], width: int, config: SearchConfig
) -> list[list[Hypothesis]]:
    """Return the W hypotheses of each sentence, best first, for the steps and the length limits of B sentences."""
    # 1. Put the paths into tables. Sentences that have left keep PAD.
    paths = np.full((len(limits), width, len(steps)), PAD)  # (B, W, L)
    scores = np.zeros(paths.shape, np.float32)  # (B, W, L)
    for index, step in enumerate(steps):
        sentences = step.sentences.cpu().numpy()
        paths[sentences, :, index] = step.tokens.view(-1, width).cpu().numpy()
        scores[sentences, :, index] = step.log_probabilities.view(-1, width).cpu().numpy()

    # 2. Cut each path after its end, and rank the paths of a sentence.
    results: list[list[Hypothesis]] = []
    for sentence_paths, sentence_scores, limit in zip(paths.tolist(), scores.tolist(), limits, strict=True):
        hypotheses = []
        for tokens, token_scores in zip(sentence_paths, sentence_scores, strict=True):
            hypotheses.append(_cut_at_end(tokens, token_scores, limit, config))
        hypotheses.sort(key=lambda hypothesis: -hypothesis.normalized_score)
        results.append(hypotheses)
    return results


def _cut_at_end(tokens: list[int], token_scores: list[float], limit: int, config: SearchConfig) -> Hypothesis:
    """Return the hypothesis of a path, cut at its first EOS or at its length limit."""
    finished = EOS in tokens[:limit]
    length = tokens.index(EOS) if finished else limit
    return Hypothesis.from_tokens(tokens[:length], token_scores[: length + finished], finished, config)

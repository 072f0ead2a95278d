"""Sampling: draws each token from the model's distribution after temperature, top-k and top-p.

B sentences, W draws of each sentence, R = B * W rows, S source length, V vocabulary
"""

import numpy as np
import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.core import EOS, PAD, SOS
from translator.core.hypothesis import FIRST_PRODUCED, Hypothesis
from translator.core.search import SearchModel, State, log_probabilities_of, widest_float
from translator.search.constraints import Constraints
from translator.speed.device import steps_between_reads
from translator.speed.top_k import top_k_on


@torch.inference_mode()
def sample_hypotheses(
    model: SearchModel[State],
    source: Tensor,
    longest: Tensor,
    config: SearchConfig,
    count: int = 1,
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """Return `count` independent draws for each row of `source`, in the order of the rows and of the draws.

    The draws of a sentence depend only on its ids, the seed and the number of the draw, not on other rows.

    Args:
        model: a `Transformer` in evaluation mode, an `Ensemble`, or any other `SearchModel`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        longest: (B,) int64, maximum output length in tokens, EOS included; at least 1.
        config: gives seed, temperature, `top_k`, `top_p`, and the length penalty.
        count: W, the draws of each sentence.
        constraints: what an output may not say; None forbids PAD, UNK and SOS.
    """
    # The random numbers of all draws, and the state of the search: one row for each draw.
    device = source.device
    most_steps = int(longest.max())
    dtype = widest_float(device)
    noise = uniform_noise(source, config.seed, count, most_steps).to(dtype).flatten(0, 1)  # (R, steps)
    noise = noise.clamp(max=1 - torch.finfo(dtype).eps / 2).to(device)  # rounding to `dtype` may have given 1
    sentences = torch.arange(len(source), device=device).repeat_interleave(count)  # (R,)
    limits = longest.to(device)[sentences]  # (R,)
    produced = source.new_empty(len(sentences), 0)  # (R, tokens so far)
    token_scores = source.new_empty(len(sentences), 0, dtype=torch.float32)  # (R, tokens so far) log-probabilities
    has_ended = torch.zeros_like(sentences, dtype=torch.bool)  # (R,)
    tokens = torch.full_like(sentences, SOS)  # (R,)
    state = model.start(source, count)
    for step in range(most_steps):
        # 1. Draw the next token of each output. Its score is its log-probability by the model alone, without
        # temperature, top-k, top-p and constraints. What follows an end is cut off below.
        logits = model.step(tokens, state).float()  # (R, V)
        forbidden = None if constraints is None else constraints.forbidden(produced, sentences, logits.size(1))
        tokens = draw(probabilities(logits, forbidden, config), noise[:, step])
        produced = torch.cat((produced, tokens.unsqueeze(1)), dim=1)
        token_scores = torch.cat((token_scores, log_probabilities_of(tokens.unsqueeze(1), logits)), dim=1)

        # 2. Stop when all outputs have ended. The program reads this only now and then, as reading waits for a GPU.
        has_ended |= (tokens == EOS) | (limits <= step + 1)
        if (step + 1) % steps_between_reads(device) == 0 and bool(has_ended.all()):
            break

    # 3. Cut each output after its end. Its draws are `count` rows in a row.
    results: list[list[Hypothesis]] = [[] for _ in range(len(source))]
    rows = zip(limits.tolist(), produced.tolist(), token_scores.tolist(), strict=True)
    for row, (limit, row_tokens, row_scores) in enumerate(rows):
        finished = EOS in row_tokens[:limit]
        length = row_tokens.index(EOS) if finished else limit
        hypothesis = Hypothesis.from_tokens(
            row_tokens[:length], row_scores[: length + finished], finished, config.settings
        )
        results[row // count].append(hypothesis)
    return results


def draw(distributions: Tensor, noise: Tensor) -> Tensor:
    """Return a token (R,) int64 of each of the `distributions` (R, V), for `noise` (R,), 0 ≤ u < 1, of their type."""
    # Sums in the order of ids: in the order of probabilities, rounding could swap neighbours and change the draw.
    sums = distributions.cumsum(dim=1)  # (R, V)
    thresholds = noise.unsqueeze(1) * sums[:, -1:]  # (R, 1)
    tokens = torch.searchsorted(sums, thresholds, right=True).squeeze(1)  # (R,)
    return tokens.clamp(max=sums.size(1) - 1)  # out of range only if probabilities are NaN


def probabilities(logits: Tensor, forbidden: Tensor | None, config: SearchConfig) -> Tensor:
    """Return the distribution (R, V) that tokens are drawn from; ties keep the lowest ids.

    Args:
        logits: (R, V) float32.
        forbidden: (R, V) bool, True = forbidden; None forbids PAD, UNK and SOS.
        config: temperature applies first, then `top_k` (Fan et al. 2018), then `top_p` (nucleus sampling, Holtzman
            et al. 2020 §3.1): the smallest set of most likely tokens whose probability reaches it.
    """
    dtype = widest_float(logits.device)
    if forbidden is None:
        logits = logits.clone()
        logits[:, :FIRST_PRODUCED] = -torch.inf
    else:
        logits = logits.masked_fill(forbidden, -torch.inf)

    # Temperature. The largest logit is subtracted first: numbers of at most 0 do not overflow at a low temperature.
    logits = (logits - logits.amax(dim=1, keepdim=True)) / config.temperature

    # Top-k.
    if config.top_k > 0:
        best_logits, tokens = top_k_on(logits.device)(logits, config.top_k)
        logits = torch.full_like(logits, -torch.inf).scatter(1, tokens, best_logits)

    # Top-p.
    if config.top_p < 1:
        sorted_logits, sorted_tokens = logits.sort(dim=1, descending=True, stable=True)
        sorted_probabilities = sorted_logits.softmax(dim=1, dtype=dtype)  # (R, V)
        before = sorted_probabilities.cumsum(dim=1) - sorted_probabilities  # (R, V) that of all more likely tokens
        nucleus = sorted_logits.masked_fill(before >= config.top_p, -torch.inf)
        logits = torch.full_like(logits, -torch.inf).scatter(1, sorted_tokens, nucleus)
    return logits.softmax(dim=1, dtype=dtype)


def uniform_noise(source: Tensor, seed: int, draws: int, steps: int) -> Tensor:
    """Return uniform noise (B, W, steps) float64, 0 ≤ u < 1, on the CPU.

    Each number depends only on the seed, the sentence's ids, the draw and the step, not on the batch.

    Args:
        source: (B, S) int64 ids, padded with PAD.
        draws: W, the draws of each sentence.
        steps: the random numbers of each draw, one for each step of its search.
    """
    noise = np.zeros((len(source), draws, steps))
    for sentence, row in enumerate(source.cpu()):
        ids = row[row != PAD].tolist()
        for number in range(draws):
            seeds = np.random.SeedSequence([seed, number, *ids])
            noise[sentence, number] = np.random.Generator(np.random.PCG64(seeds)).random(steps)
    return torch.from_numpy(noise)

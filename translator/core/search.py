"""Search: the W most likely hypotheses of each sentence grow together, a token at a time; with W = 1 it is greedy.

Each step ranks the 2 W best extensions of a beam: a hypothesis and its next token. A back-pointer is the rank, one step
earlier, of the extension that this one continues. So a hypothesis is a path, followed from its end. With W = 2:

    rank   step 1   step 2      step 3
    0      the      cat  ← 0    EOS   ← 0      the cat: finished
    1      a        EOS  ← 1    barks ← 2      the dog barks
    2      one      dog  ← 0    runs  ← 0
    3      EOS      EOS  ← 0    EOS   ← 2

Of the first W, those that end in EOS are finished: "a" at step 2, "the cat" at step 3. The first W without EOS are the
next beam: "the" and "a", then "the cat" and "the dog". With 2 W extensions there are always W without EOS, because each
hypothesis has one extension by EOS.

A search uses a model through `SearchModel`, which a `Transformer` is; so several models may search as one, and other
rooms may forbid tokens or choose them at random.

B sentences, n of them unfinished, W beam width, R = n * W rows, S source length, V vocabulary,
C next tokens of a row, L steps, E endings (hypotheses that ended or were cut off), N returned hypotheses
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from translator.core import EOS, SOS
from translator.core.hypothesis import FIRST_PRODUCED, Hypothesis, SearchSettings, length_penalty


class SearchState(Protocol):
    """The state of a model between two steps of a search, one entry per row."""

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows: row i becomes what row `rows[i]` was.

        Args:
            rows: (R',) int64, where R' is a multiple of W. Each run of W comes from the rows of one sentence, and
                sentences keep their order.
        """


State = TypeVar("State", bound=SearchState)


class SearchModel(Protocol[State]):
    """The interface of a model to search, such as `Transformer`."""

    def start(self, source: Tensor, width: int = 1) -> State:
        """Return the state before the first step.

        Args:
            source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
            width: W, the rows of the state for each sentence.
        """

    def step(self, tokens: Tensor, state: State, /) -> Tensor:
        """Return the logits (R, V) of the tokens after `tokens`, and advance `state`.

        `tokens` (R,) int64 has the last token of each row; SOS at the first step.
        """


class Prohibition(Protocol):
    """Forbids next tokens of hypotheses; `search/constraints.py` has forms of it."""

    def forbidden(self, produced: Tensor, sentences: Tensor, vocabulary: int) -> Tensor:
        """Return a mask (R, V) bool, True = forbidden; PAD, UNK and SOS always are, and one token never is.

        Args:
            produced: (R, T) int64 tokens so far, without SOS.
            sentences: (R,) int64, index of each row's sentence in the batch.
            vocabulary: V.
        """


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest values of each row of `values` (R, V), largest first, and their indices, (R, C) each.

    Ties go to the lowest index. `torch.topk` alone leaves their order open, so that a translation could differ between
    machines. C is `count`, or V if that is smaller. `speed/top_k.py` has a form for a GPU.
    """
    vocabulary = values.size(1)
    count = min(count, vocabulary)
    # One value more than necessary shows whether ties with the last one were left out.
    best, indices = values.topk(min(count + 1, vocabulary), dim=1)
    is_equal_to_next = best[:, 1:] == best[:, :-1]
    is_possible = best[:, 1:] > -torch.inf  # the order of ties at -inf has no effect
    has_tie = (is_equal_to_next & is_possible).any(dim=1)

    # Rows with ties are rare in float32: sort them whole.
    tied_rows = has_tie.nonzero().squeeze(1)
    if len(tied_rows) > 0:
        in_order = values[tied_rows].sort(dim=1, descending=True, stable=True).indices
        indices[tied_rows] = in_order[:, : indices.size(1)]  # `best` stays: tied values are equal
    return best[:, :count], indices[:, :count]


TopK = Callable[[Tensor, int], tuple[Tensor, Tensor]]
"""Returns the largest values of rows and their indices, as `largest` does."""


def log_probabilities_of(tokens: Tensor, logits: Tensor) -> Tensor:
    """Return the log-probabilities (R, C) of `tokens` (R, C) int64 in the distributions of `logits` (R, V)."""
    return logits.log_softmax(dim=-1).gather(1, tokens)  # one pass; `logsumexp` takes five


def widest_float(device: torch.device) -> torch.dtype:
    """Return float64, or float32 on Apple GPUs, which have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


class BeamStep(NamedTuple):
    """The 2 W best extensions of the beams of the unfinished sentences: a column of the picture above, of each."""

    sentences: Tensor  # (n,) int64 indices
    back_pointers: Tensor  # (n, 2 W) int64, ranks among the 2 W extensions of the previous step
    tokens: Tensor  # (n, 2 W) int64
    scores: Tensor  # (n, 2 W) summed log-probabilities, -inf where there is no hypothesis


@torch.inference_mode()
def beam_search(
    model: SearchModel[State],
    source: Tensor,
    longest: Tensor,
    settings: SearchSettings,
    count: int = 1,
    constraints: Prohibition | None = None,
    top_k: TopK = largest,
    steps_between_reads: int = 1,
) -> list[list[Hypothesis]]:
    """Return `count` hypotheses for each row of `source`, best first, by beam search (Sutskever et al. 2014 §3.2).

    Each step takes the 2 W best extensions of a beam. Those among the first W that end in EOS are finished hypotheses;
    the first W without EOS form the next beam. A sentence leaves the batch in one of three cases:

    - 2 W of its hypotheses have finished (patience 2, Kasai et al. 2022; a single one if W = 1), and one of them has at
      least the score of every unfinished one. Scores are sums of log-probabilities, without length penalty.
    - It is at its length limit.
    - Its beam is empty, because the constraints forbid every continuation.

    The hypotheses are ranked by their scores with length penalty. Those cut off at the length limit are returned only
    if too few finished. A row has fewer than `count` only if the constraints and the length limit allow no more.

    Args:
        model: a `Transformer` in evaluation mode, or any other `SearchModel`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        longest: (B,) int64, maximum output length in tokens, EOS included; at least 1.
        settings: give W (`beam_size`) and the length penalty.
        count: hypotheses for each row, at most W.
        constraints: what an output may not say; None forbids PAD, UNK and SOS.
        top_k: finds the largest values of rows.
        steps_between_reads: every so many steps, the program reads from the device which sentences leave the batch.
            Each reading waits for a GPU, which runs behind the program. A sentence that is over stays until the next
            reading, and finds nothing more.
    """
    width = settings.beam_size
    enough_finished = 2 * width if width > 1 else 1  # a beam of one is greedy search
    count_of_sentences, device = len(source), source.device
    limits = longest.to(device)  # (B,)
    # The hypotheses of the i-th unfinished sentence are the rows i * W to i * W + W - 1 of the model's state.
    first_rows = torch.arange(0, count_of_sentences * width, width, device=device).unsqueeze(1)  # (B, 1)

    # The beams of the unfinished sentences, whose scores are summed log-probabilities, best first. All hypotheses of a
    # beam start equal, so only the first one scores above -inf: the others would become duplicates.
    sentences = torch.arange(count_of_sentences, device=device)  # (n,) indices
    scores = torch.full((count_of_sentences, width), -math.inf, dtype=widest_float(device), device=device)  # (n, W)
    scores[:, 0] = 0.0
    tokens = source.new_full((count_of_sentences, width), SOS)  # (n, W) the last token of each hypothesis
    ranks = torch.arange(width, device=device).repeat(count_of_sentences, 1)  # (n, W) among the last 2 W extensions
    produced = source.new_empty(count_of_sentences, width, 0)  # (n, W, tokens so far), only for the constraints
    finished_count = torch.zeros_like(sentences)  # (n,) finished hypotheses
    best_finished = scores.new_full((count_of_sentences,), -math.inf)  # (n,) their largest score

    steps: list[BeamStep] = []
    state = model.start(source, width)
    for length in range(1, int(longest.max()) + 1):
        # 1. Compute the logits of all next tokens.
        logits = model.step(tokens.flatten(), state)  # (R, V)
        forbidden = None
        if constraints is not None:
            row_sentences = sentences.repeat_interleave(width)  # (R,)
            forbidden = constraints.forbidden(produced.flatten(0, 1), row_sentences, logits.size(1))

        # 2. Find the 2 W best extensions of every beam, and record them with back-pointers. A parent is a place in the
        # beam; `ranks` has the rank that the hypothesis at each place had among the extensions of the step before.
        extension_scores, parents, extension_tokens = best_extensions(scores, logits, forbidden, top_k)  # (n, 2 W) each
        back_pointers = ranks.gather(1, parents)
        steps.append(BeamStep(sentences, back_pointers, extension_tokens, extension_scores))

        # 3. Count the hypotheses that finish: those among the first W that end in EOS. One of -inf is no hypothesis.
        has_ended = (extension_tokens == EOS) & (extension_scores > -math.inf)  # (n, 2 W)
        finished_count = finished_count + has_ended[:, :width].sum(dim=1)
        finished_scores = extension_scores.masked_fill(~has_ended, -math.inf)[:, :width]  # (n, W)
        best_finished = torch.maximum(best_finished, finished_scores.amax(dim=1))

        # 4. The first W without EOS form the next beam, best first: a stable sort puts them before those with EOS.
        ranks = has_ended.int().sort(dim=1, stable=True).indices[:, :width]  # (n, W)
        scores = extension_scores.gather(1, ranks)
        tokens = extension_tokens.gather(1, ranks)
        parents = parents.gather(1, ranks)
        rows = parents + first_rows[: len(parents)]  # (n, W) of the model's state: the hypotheses that are continued
        if constraints is not None:
            produced = produced.gather(1, parents.unsqueeze(2).expand_as(produced))
            produced = torch.cat((produced, tokens.unsqueeze(2)), dim=2)

        # 5. Find the sentences that go on: none of the three cases above holds.
        best_unfinished = scores[:, 0]  # (n,)
        is_undecided = (finished_count < enough_finished) | (best_unfinished > best_finished)
        goes_on = is_undecided & (limits[sentences] > length) & (best_unfinished > -math.inf)  # (n,)

        # 6. Let the others leave the batch. In a step that does not read, empty their beams instead.
        if length % steps_between_reads == 0:
            going = goes_on.nonzero().squeeze(1)  # (n',) indices into `sentences`
            if len(going) == 0:
                break
            if len(going) < len(sentences):
                sentences = sentences[going]
                scores = scores[going]
                tokens = tokens[going]
                ranks = ranks[going]
                rows = rows[going]
                produced = produced[going]
                finished_count = finished_count[going]
                best_finished = best_finished[going]
        else:
            scores = scores.masked_fill(~goes_on.unsqueeze(1), -math.inf)

        # 7. Bring the model's state into the order of the new beams.
        state.select(rows.flatten())
    return _best_hypotheses(steps, longest.tolist(), count, settings)


def best_extensions(
    scores: Tensor, logits: Tensor, forbidden: Tensor | None, top_k: TopK
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the scores, parents and tokens of the 2 W best extensions of each beam, (n, 2 W) each, best first.

    A parent is the place in the beam, 0 to W - 1, of the hypothesis that is extended. A score is -inf where there is no
    hypothesis. Ties go to the lowest parent, then to the lowest id.

    In the shapes below, C is the number of next tokens of each hypothesis: 2 W, or fewer if the vocabulary is smaller.

    Args:
        scores: (n, W) summed log-probabilities of the hypotheses.
        logits: (R, V) of the tokens after them.
        forbidden: (R, V) bool, True = forbidden; None forbids PAD, UNK and SOS.
        top_k: finds the largest values of rows.
    """
    width = scores.size(1)
    logits = logits.float()

    # 1. The 2 W best next tokens of each hypothesis. No more can be among the 2 W best extensions of its beam. Their
    # log-probabilities are over the whole vocabulary, forbidden tokens included.
    if forbidden is None:
        # PAD, UNK and SOS are the lowest ids.
        producible = logits[:, FIRST_PRODUCED:]  # a view: no copy of size V
        _, indices = top_k(producible, 2 * width)
        tokens = indices + FIRST_PRODUCED  # (R, C)
        log_probabilities = log_probabilities_of(tokens, logits)  # (R, C)
    else:
        # Where fewer than C tokens are allowed, forbidden ones are among the best C, with logits of -inf.
        token_logits, tokens = top_k(logits.masked_fill(forbidden, -torch.inf), 2 * width)  # (R, C) each
        log_probabilities = log_probabilities_of(tokens, logits)
        log_probabilities = log_probabilities.masked_fill(token_logits == -torch.inf, -torch.inf)

    # 2. The best extensions of all hypotheses of a beam: W hypotheses with C next tokens each.
    count = tokens.size(1)  # C
    totals = (scores.unsqueeze(2) + log_probabilities.reshape(-1, width, count)).flatten(1)  # (n, W * C)
    tokens = tokens.reshape(-1, width * count)  # (n, W * C)
    best_totals, places = top_k(totals, 2 * width)  # (n, 2 W) each
    parents = places // count  # each hypothesis has C places in a row
    return best_totals, parents, tokens.gather(1, places)


def _best_hypotheses(
    steps: Sequence[BeamStep], limits: list[int], count: int, settings: SearchSettings
) -> list[list[Hypothesis]]:
    """Return the best `count` hypotheses of each of B sentences, best first; finished ones precede those cut off.

    `steps` are those of the search from its first to its last; `limits` are the B length limits, EOS included.
    """
    # 1. Put all steps into tables; sentences that have left the batch have scores of -inf.
    shape = (len(steps), len(limits), steps[0].back_pointers.size(1))  # (L, B, 2 W)
    back_pointers = np.zeros(shape, np.int64)
    tokens = np.zeros(shape, np.int64)
    scores = np.full(shape, -np.inf)
    for index, step in enumerate(steps):
        unfinished = step.sentences.cpu().numpy()
        back_pointers[index, unfinished] = step.back_pointers.cpu().numpy()
        tokens[index, unfinished] = step.tokens.cpu().numpy()
        scores[index, unfinished] = step.scores.cpu().numpy()

    # 2. A hypothesis ends with EOS or at the length limit, if it is among the first W of its step.
    lengths = np.arange(1, len(steps) + 1)  # (L,)
    is_at_limit = lengths[:, None] == np.array(limits)  # (L, B)
    is_ending = ((tokens == EOS) | is_at_limit[:, :, None]) & (scores > -np.inf)  # (L, B, 2 W)
    is_ending[:, :, settings.beam_size :] = False
    last_steps, sentences, ranks = is_ending.nonzero()  # (E,) each: where in the tables it ends
    is_finished = tokens[is_ending] == EOS  # (E,)

    # 3. Rank the endings of a sentence: finished ones first, then by normalized score, then the shortest.
    penalties = np.array([length_penalty(float(length), settings) for length in lengths])  # (L,)
    normalized_scores = scores[is_ending] / penalties[last_steps]  # (E,)
    order = np.lexsort((ranks, last_steps, -normalized_scores, ~is_finished, sentences))  # the last key decides first

    # 4. Take the best `count` of each sentence, whose endings are neighbours in `order`: N endings from here on.
    ordered_sentences = sentences[order]  # (E,) ascending
    first_of_sentence = np.searchsorted(ordered_sentences, np.arange(len(limits)))  # (B,)
    places = np.arange(len(order)) - first_of_sentence[ordered_sentences]  # (E,) 0 for the best of a sentence
    best = order[places < count]  # (N,)
    last_steps, sentences, ranks, is_finished = last_steps[best], sentences[best], ranks[best], is_finished[best]

    # 5. Follow the back-pointers from the last token of each to its first.
    path_tokens = np.zeros((len(best), len(steps)), np.int64)  # (N, L)
    path_scores = np.zeros((len(best), len(steps)))  # (N, L) summed log-probabilities up to each token
    for index in reversed(range(len(steps))):
        reached = (last_steps >= index).nonzero()[0]  # the hypotheses that have a token at this step
        cells = (index, sentences[reached], ranks[reached])
        path_tokens[reached, index] = tokens[cells]
        path_scores[reached, index] = scores[cells]
        ranks[reached] = back_pointers[cells]  # at the step before
    token_scores = np.diff(path_scores, axis=1, prepend=0.0).astype(np.float32)  # (N, L)

    # 6. Cut each path after its last token, and give it to its sentence. Paths of a sentence are still best first.
    results: list[list[Hypothesis]] = [[] for _ in limits]
    for row, sentence in enumerate(sentences.tolist()):
        length = int(last_steps[row]) + 1  # EOS counts
        has_eos = bool(is_finished[row])
        hypothesis = Hypothesis.from_tokens(
            tokens=path_tokens[row, : length - has_eos].tolist(),  # without EOS
            token_scores=token_scores[row, :length].tolist(),
            finished=has_eos,
            settings=settings,
        )
        results[sentence].append(hypothesis)
    return results

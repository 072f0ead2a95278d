"""The confidence of a run in its translations, fitted on its validation text at the end of a training.

N sentences, F features
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from translator.checkpoint.state import find_checkpoint
from translator.corpus.held_out import evenly_spread
from translator.evaluation.metrics import sentence_chrf
from translator.evaluation.search_labels import search_label
from translator.inference.confidence import Confidence, features, read_confidence
from translator.inference.translator import Translator
from translator.run.files import write_json
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, RECORD

_LARGEST_SAMPLE: Final = 1_000  # sentences that are translated
_FEWEST_PAIRS: Final = 20
_NEWTON_STEPS: Final = 20

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


def keep_confidence(run: RunFolder, pairs: Sequence[tuple[str, str]]) -> None:
    """Fit the confidence of the best checkpoint of a run, and write it to confidence.json, unless it is there.

    Args:
        run: a trained run.
        pairs: sources and references of its validation text; fewer than 20 give no confidence.

    Raises RunError: the file is damaged.
    """
    checkpoint = find_checkpoint(run.checkpoints_folder, "best").name
    if len(pairs) < _FEWEST_PAIRS or read_confidence(run.confidence_file, checkpoint) is not None:
        return

    # 1. Translate as `translator translate` does by default, with the exact scores that the features need.
    chosen_pairs = [pairs[number] for number in evenly_spread(len(pairs), _LARGEST_SAMPLE)]
    sources = [source for source, _ in chosen_pairs]
    references = [(reference,) for _, reference in chosen_pairs]
    translator = Translator.load(run.path, checkpoint=checkpoint)
    translations = [best_first[0] for best_first in translator.translations(sources)]
    inputs = np.array([features(translation) for translation in translations])  # (N, F)

    # 2. The better half of the translations, by chrF, counts as good.
    chrf = sentence_chrf([translation.text for translation in translations], references)
    median = float(np.median(chrf))
    good = np.array(chrf) >= median  # (N,)

    # 3. Fit the weights on all sentences. A fit must be judged on sentences that it has not seen: so the even sentences
    # are predicted by a fit on the odd ones, and the odd ones by a fit on the even ones.
    weights = tuple(fit(inputs, good).tolist())
    predicted = np.empty(len(good))
    for judged_start, fitted_start in ((0, 1), (1, 0)):
        half_weights = fit(inputs[fitted_start::2], good[fitted_start::2])
        predicted[judged_start::2] = predict(half_weights, inputs[judged_start::2])

    # 4. Write the weights with the judgement, and report the judgement.
    measured: dict[str, Any] = {
        "search": search_label(translator.search),
        "sentences": len(good),
        "median_chrf": median,
    }
    measured |= judgement(predicted, good)
    write_json(run.confidence_file, asdict(Confidence(checkpoint, weights, measured)))
    LOGGER.info("confidence on the validation text: calibration error %.3f", measured["calibration_error"])
    for tenth in measured["reliability"]:
        RECORD.info("%5d sentences with a mean confidence of %.2f: a share of %.2f is good", *tenth)


def fit(inputs: Floats, good: Booleans) -> Floats:
    """Return the weights (F,) of a logistic regression, by Newton's method, with half their squares as a penalty.

    Args:
        inputs: features (N, F), one of which is 1 for the intercept.
        good: what is to be predicted (N,).
    """
    weights = np.zeros(inputs.shape[1])
    for _ in range(_NEWTON_STEPS):
        predicted = predict(weights, inputs)
        gradient = inputs.T @ (predicted - good) + weights
        curvature = (inputs.T * (predicted * (1 - predicted))) @ inputs + np.eye(len(weights))
        weights -= np.linalg.solve(curvature, gradient)
    return weights


def predict(weights: Floats, inputs: Floats) -> Floats:
    """Return the probability (N,) that each sentence with these features (N, F) is good, by the weights of `fit`."""
    probabilities: Floats = 1 / (1 + np.exp(-inputs @ weights))
    return probabilities


def judgement(predicted: Floats, good: Booleans) -> dict[str, Any]:
    """Return how right N probabilities are that sentences are `good`.

    The sentences are grouped by the tenth of their probability (0 to 0.1, and so on). `reliability` has for each tenth
    that occurs the number of sentences, their mean probability, and the share of good ones. `calibration_error` is the
    mean of |mean probability - share| over all sentences, each with the values of its tenth.
    """
    tenths = np.minimum(predicted * 10, 9).astype(np.int64)  # 0 to 9; the probability 1 is in the last
    reliability = []
    error_sum = 0.0
    for tenth in np.unique(tenths):
        inside = tenths == tenth
        count = int(inside.sum())
        mean = float(predicted[inside].mean())
        share = float(good[inside].mean())
        reliability.append((count, mean, share))
        error_sum += count * abs(mean - share)
    return {"calibration_error": error_sum / len(good), "reliability": reliability}

"""Scores by sacreBLEU on raw, normalized and folded text, and by COMET, with signatures and intervals."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import sacrebleu.utils
from pydantic import with_config
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.base import Score as MetricScore
from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

from translator.config import Config, MetricName, NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.normalizer import Normalizer
from translator.corpus.normalizer_rules import NormalizerRules
from translator.errors import InputError
from translator.run.folder import RunFolder
from translator.run.records import STRICT, WholeNumber
from translator.run.storage import storage_errors, write_text

RAW: Final = "raw"  # the `normalization` of a score on unchanged text: references as read, hypotheses as translated
ZWNJ: Final = "\u200c"
LOWER_IS_BETTER: Final = frozenset({"ter"})
_SPM: Final = "flores200"
# Sentences in all bootstrap resamples of a score; sacreBLEU needs up to 100 bytes for each.
_MOST_DRAWN: Final = 5_000_000
_FEWEST_SAMPLES: Final = 100
# `force` only silences a warning about references with spaces before full stops.
_METRICS: Final[Mapping[MetricName, Callable[[], Metric]]] = {
    "bleu": partial(BLEU, tokenize="13a", force=True),
    "length_ratio": partial(BLEU, tokenize="13a", force=True),
    "bleu_intl": partial(BLEU, tokenize="intl", force=True),
    "spbleu": partial(BLEU, tokenize=_SPM, force=True),
    "chrf": CHRF,
    "chrf++": partial(CHRF, word_order=2),
    "ter": TER,
}
_COMET: Final = "comet-score"
_SENTENCE_BLEU: Final = BLEU(effective_order=True)


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class Score:
    """One number, with everything that defines it."""

    test_set: str = ""
    metric: MetricName
    score: float
    signature: str  # sacreBLEU's: tokenizer, smoothing, bootstrap, version
    normalization: str  # `raw`, or the normalization of both sides
    search: str = ""
    checkpoint: str = ""
    sentences: WholeNumber  # that are scored
    left_out: tuple[WholeNumber, ...] = ()  # lines of the test set, from 1, without source text or without reference
    interval: tuple[float, float] | None = None  # 95% bootstrap interval; None if not requested

    @property
    def setting(self) -> tuple[str, ...]:
        """Key of the measurement; a newer score with the same key replaces an older one."""
        return (self.test_set, self.metric, self.normalization, self.search, self.checkpoint)

    @property
    def shown(self) -> str:
        """The score as text, with its interval."""
        bounds = "–".join(show_value(self.metric, bound) for bound in self.interval or ())
        return show_value(self.metric, self.score) + (f" ({bounds})" if bounds else "")

    def to_json(self) -> dict[str, Any]:
        """Return the entry of scores.json."""
        entry = asdict(self) | {"left_out": list(self.left_out)}
        interval = entry.pop("interval")
        return entry if interval is None else entry | {"interval": list(interval)}


def show_value(metric: MetricName, value: float) -> str:
    """Return a value of this metric as text: three decimals for ratios and COMET, two for the others."""
    return f"{value:.3f}" if metric in ("length_ratio", "comet") else f"{value:.2f}"


class TextVariant(NamedTuple):
    """A normalization of both sides before the comparison; `label` is the `normalization` of its scores."""

    label: str
    spell: Callable[[str], str]


RAW_TEXT: Final = TextVariant(RAW, str)


def text_variants(
    config: NormalizationConfig,
    languages: Languages = (ENGLISH, PERSIAN),
    rules: NormalizerRules | None = None,
) -> list[TextVariant]:
    """Return three variants: raw, normalized, and normalized with spaces for ZWNJ; labels name changed rules."""
    normalizer = Normalizer(config, languages, rules)
    defaults = NormalizationConfig().model_dump()
    changed = [f"{key}={value}" for key, value in config.model_dump().items() if value != defaults[key]]
    name = f"normalizer-{normalizer.rules.version}"
    normalized = " ".join([f"{name} on both sides", *changed])
    folded = " ".join([f"{name}, ZWNJ as space, on both sides", *changed])
    return [
        RAW_TEXT,
        TextVariant(normalized, normalizer.target),
        TextVariant(folded, lambda text: normalizer.target(text).replace(ZWNJ, " ")),
    ]


def compute_scores(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[tuple[str, ...]],
    *,
    metrics: Sequence[MetricName],
    normalization: NormalizationConfig | None = None,
    languages: Languages = (ENGLISH, PERSIAN),
    rules: NormalizerRules | None = None,
    bootstrap_samples: int | None = None,
    test_set: str = "",
) -> list[Score]:
    """Return the scores of N `hypotheses`: BLEU 13a on raw text, the other `metrics`, then all on the other variants.

    Args:
        hypotheses: detokenized translations.
        references: one text or a tuple of texts for each; the number may vary. As read: references decoded from ids
            would inflate BLEU.
        metrics: all but COMET.
        normalization: of the normalized and the folded text; None scores raw text only.
        languages: of source and target.
        rules: of the model's normalizer; None: the current ones.
        bootstrap_samples: None computes no intervals.

    Raises InputError: there are no sentences, the numbers of hypotheses and references differ, a sentence has no
    reference, or a reference is blank.
    """
    if not len(hypotheses) == len(references) > 0:
        raise InputError(
            f"cannot score {len(hypotheses)} translations against {len(references)} references of test set "
            f"`{test_set}`; both files need the same number of lines, at least one"
        )
    several = [(texts,) if isinstance(texts, str) else texts for texts in references]
    for number, texts in enumerate(several, start=1):
        if not texts or not all(map(str.strip, texts)):
            raise InputError(
                f"sentence {number:,} of test set `{test_set}` has no reference, or a blank one; remove it"
            )
    scores = []
    for variant in [RAW_TEXT] if normalization is None else text_variants(normalization, languages, rules):
        spelt = [variant.spell(text) for text in hypotheses]
        sides = reference_sides(several, variant.spell)
        for name in dict.fromkeys(["bleu", *metrics]) if variant.label == RAW else metrics:
            value, interval, signature = _measure(name, spelt, sides, bootstrap_samples)
            scores.append(
                Score(test_set=test_set, metric=name, score=value, signature=signature, normalization=variant.label,
                      sentences=len(spelt), interval=interval)
            )  # fmt: skip
    return scores


def scorer(name: MetricName) -> Metric:
    """Return sacreBLEU's metric; `length_ratio` is a part of BLEU."""
    return _METRICS[name]()


Sides = list[list[Any]]
"""References as sacreBLEU takes them: N texts for each reference of a sentence, None where a sentence has fewer.

The type is `Any`, since the annotations of sacreBLEU do not have the None that it accepts.
"""


def reference_sides(references: Sequence[tuple[str, ...]], spell: Callable[[str], str] = str) -> Sides:
    """Return the references of N sentences, one or more for each, in the form of sacreBLEU and spelt by `spell`."""
    sides: Sides = []
    for texts in zip_longest(*references):
        sides.append([None if text is None else spell(text) for text in texts])
    return sides


def corpus_score(name: MetricName, hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]) -> float:
    """Return the score of N `hypotheses` against the references of each."""
    return _value(name, scorer(name).corpus_score(hypotheses, reference_sides(references)))


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]) -> list[float]:
    """Return the chrF of each sentence separately."""
    chrf = CHRF()
    return [float(chrf.sentence_score(*pair).score) for pair in zip(hypotheses, references, strict=True)]


def sentence_bleu(hypothesis: str, reference: str) -> float:
    """Return the sentence BLEU, with as many n-gram orders as the sentence has (`effective_order`)."""
    return float(_SENTENCE_BLEU.sentence_score(hypothesis, [reference]).score)


def spbleu_lacks() -> str | None:
    """Return what spBLEU lacks and how to get it; None if it can be computed. Downloads nothing."""
    url = SPM_MODELS[_SPM]["url"]
    file = Path(sacrebleu.utils.SACREBLEU_DIR) / "models" / Path(url).name  # where sacreBLEU looks for it
    if file.is_file():
        with contextlib.suppress(OSError, RuntimeError):  # SentencePiece's errors for a damaged file
            scorer("spbleu")
            return None
    return f"spBLEU needs the SentencePiece model of FLORES-200: download {url} to {file}"


def bounded_samples(samples: int, sentences: int) -> int:
    """Return `samples`, or fewer if the resamples of this many sentences do not fit into memory."""
    return min(samples, max(_MOST_DRAWN // sentences, _FEWEST_SAMPLES))


def _measure(
    name: MetricName, hypotheses: Sequence[str], sides: Sides, samples: int | None
) -> tuple[float, tuple[float, float] | None, str]:
    """Return score, bootstrap interval (None without `samples`) and signature."""
    metric = scorer(name)
    if samples is None:
        return _value(name, metric.corpus_score(hypotheses, sides)), None, str(metric.get_signature())
    samples = bounded_samples(samples, len(hypotheses))
    if name == "length_ratio":
        return _measure_length_ratio(hypotheses, sides, samples)
    signature, (found,) = bootstrap([("", hypotheses)], metric, sides, "bs", samples)
    assert found.mean is not None and found.ci is not None
    return float(found.score), (max(0.0, float(found.mean - found.ci)), float(found.mean + found.ci)), signature


def _measure_length_ratio(
    hypotheses: Sequence[str], sides: Sides, samples: int
) -> tuple[float, tuple[float, float], str]:
    """Return score, bootstrap interval and signature, since sacreBLEU has no test of this metric."""
    metric = scorer("length_ratio")
    # 1. The lengths of each sentence.
    lengths: list[float] = []
    reference_lengths: list[float] = []
    for hypothesis, *texts in zip(hypotheses, *sides, strict=True):
        of_sentence = metric.corpus_score([hypothesis], [[text] for text in texts])
        assert isinstance(of_sentence, BLEUScore)
        lengths.append(of_sentence.sys_len)
        reference_lengths.append(of_sentence.ref_len)
    # 2. The whole; last, since the signature is that of the latest call.
    value = _value("length_ratio", metric.corpus_score(hypotheses, sides))
    first, _, rest = str(metric.get_signature()).partition("|")
    return value, ratio_interval(lengths, reference_lengths, samples), f"{first}|bs:{samples}|seed:12345|{rest}"


def ratio_interval(above: Sequence[float], below: Sequence[float], samples: int) -> tuple[float, float]:
    """Return the 95% interval of sum(above) / sum(below) over bootstrap resamples of the N sentences."""
    values, generator = np.array([above, below], dtype=np.float64), np.random.default_rng(12345)
    ratios = []
    for _ in range(samples):
        total, divisor = values[:, generator.integers(len(above), size=len(above))].sum(axis=1)
        ratios.append(total / divisor if divisor else 0.0)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return float(low), float(high)


def bootstrap(
    systems: Sequence[tuple[str, Sequence[str]]],
    metric: Metric,
    sides: Sides,
    kind: Literal["bs", "ar"],
    draws: int,
) -> tuple[str, list[Result]]:
    """Return sacreBLEU's signature and result for each system: bootstrap mean and interval, p-values against the first.

    Args:
        systems: name and N hypotheses of each.
        sides: see `reference_sides`.
        kind: `bs` for bootstrap resampling, `ar` for approximate randomisation.
        draws: resamples or trials.
    """
    signatures, columns = PairedTest(list(systems), {"metric": metric}, sides, test_type=kind, n_samples=draws)()
    (signature,) = signatures.values()
    (results,) = (column for name, column in columns.items() if name != "System")
    return str(signature), [result for result in results if isinstance(result, Result)]


def _value(name: MetricName, found: MetricScore) -> float:
    if name == "length_ratio":
        assert isinstance(found, BLEUScore)
        return found.sys_len / found.ref_len if found.ref_len else 0.0
    return float(found.score)


def comet_lacks(model: str | None, run: RunFolder) -> str | None:
    """Return what COMET (Rei et al. 2020) lacks and how to get it; None if it can be computed.

    A model inside the folder of the run is refused: a run may come from someone else, and loading runs code in it.
    """
    if model is None:
        return "COMET needs a model: download one, and set evaluation.comet_model=FILE.ckpt"
    path = Path(model)
    if path.suffix != ".ckpt" or not path.is_file():
        return f"COMET needs a checkpoint file that ends in .ckpt; evaluation.comet_model is {model}"
    if path.resolve().is_relative_to(run.path.resolve()):
        return f"COMET's model {model} is inside a run folder and is not loaded, since loading runs its code"
    if shutil.which(_COMET) is None:
        return f"COMET needs the program {_COMET}: pip install unbabel-comet, in any environment on PATH"
    return None


def comet_score(
    config: Config, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]
) -> Score:
    """Return COMET's score on raw text, against the first reference of each sentence, with a bootstrap interval.

    Only the separate process `comet-score`, without network access, unpickles the checkpoint.

    Raises InputError: the program fails; the message quotes its last lines.
    """
    model, samples = config.evaluation.comet_model, config.evaluation.bootstrap_samples
    assert model is not None, "the caller has asked comet_lacks"
    found: list[float] = []
    with storage_errors("a temporary folder"), tempfile.TemporaryDirectory() as folder:
        texts = {"source": sources, "hypothesis": hypotheses, "reference": [several[0] for several in references]}
        for name, lines in texts.items():
            write_text(Path(folder, name), "".join(f"{' '.join(line.split())}\n" for line in lines))
        command = [_COMET, "-s", "source", "-t", "hypothesis", "-r", "reference", "--gpus", "0", "--quiet"]
        command += ["--model", str(Path(model).resolve()), "--to_json", "scores.json"]
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONUTF8": "1"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
        # The message below quotes the program.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            (rows,) = json.loads(Path(folder, "scores.json").read_text(encoding="utf-8")).values()
            found = [float(row["COMET"]) for row in rows]
    if done.returncode or len(found) != len(sources):
        last = "\n".join(done.stderr.strip().splitlines()[-5:]) or "nothing"
        raise InputError(
            f"{_COMET} did not score the translations with {model} (exit code {done.returncode}). It runs without "
            "network access, so the caches must have all files of the model; set evaluation.comet_model=null to skip "
            f"COMET. Its last output: {last}"
        )
    return Score(
        metric="comet",
        score=sum(found) / len(found),
        signature=f"model:{Path(model).stem}|program:{_COMET}|bs:{samples}|seed:12345",
        normalization=RAW,
        sentences=len(found),
        interval=ratio_interval(found, [1.0] * len(found), samples),
    )

"""Compare two translations of a test set: BLEU and chrF with bootstrap intervals, on raw and on normalized text.

python scripts/paired_bootstrap.py REFERENCE BASELINE SYSTEM [SYSTEM ...]
"""

import sys
from collections.abc import Callable
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from translator.config import NormalizationConfig
from translator.corpus import NORMALIZER_VERSION, Normalizer

SAMPLES = 1000


def main() -> None:
    """Print a block of lines for each kind of text; p is that of the difference to the baseline."""
    reference, *systems = sys.argv[1:]
    normalize = Normalizer(NormalizationConfig()).target
    print(f"{SAMPLES} bootstrap samples; 95% interval; p of the difference to {systems[0]}")
    for title, change in (("raw", str), (f"normalizer-{NORMALIZER_VERSION} on both sides", normalize)):
        compare(title, *(lines(path, change) for path in (reference, *systems)), names=systems)


def lines(path: str, change: Callable[[str], str]) -> list[str]:
    """Return the lines of a file, each changed."""
    return [change(line) for line in Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")]


def compare(title: str, reference: list[str], *outputs: list[str], names: list[str]) -> None:
    """Print the scores of each output."""
    metrics = {"BLEU": BLEU(references=[reference]), "chrF": CHRF(references=[reference])}
    test = PairedTest(
        list(zip(names, outputs, strict=True)), metrics, references=None, test_type="bs", n_samples=SAMPLES
    )
    signatures, scores = test()
    for metric, signature in signatures.items():
        print(f"{title}: {metric} {signature}")
        for name, result in zip(scores["System"], scores[metric], strict=True):
            assert isinstance(result, Result)
            p = "" if result.p_value is None else f"  p = {result.p_value:.4f}"
            print(f"  {name}: {result.score:.2f} ({result.mean:.2f} ± {result.ci:.2f}){p}")


if __name__ == "__main__":
    main()

"""English→Persian neural machine translation, end to end: corpus, subwords, Transformer, search, scores.

`Translator` turns text into text with a trained run:

    from translator import Translator
    translator = Translator.load("runs/sample")
    print(translator.translate("The children are at school."))
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from translator.inference.translator import Translator

# torch reads these when loaded. OpenMP's threads spin while they wait, by default for milliseconds, which starves other
# programs and then training itself (docs/results.md); operations that torch lacks on Apple's GPUs run on the CPU.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
os.environ.setdefault("PYTORCH_ENABLE_MPS_FALLBACK", "1")

__version__ = "1.0.0.dev0"
__all__ = ["Translator", "__version__"]


def __getattr__(name: str) -> Any:
    """Import torch and the rest of the package only when `Translator` is used, so that `--help` stays quick."""
    if name == "Translator":
        from translator.inference.translator import Translator

        return Translator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

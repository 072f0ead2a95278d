"""Single choices of the training step, each timed beside its alternatives turn by turn: `python -m bench kernels`."""

from collections.abc import Callable, Iterator

import torch

from bench.kernel_attention import attention_comparisons
from bench.kernel_layers import dropout_comparisons, linear_comparisons, precision_comparisons
from bench.kernel_updates import compile_comparisons, loss_comparisons, muon_comparisons, optimizer_comparisons
from bench.options import Options
from bench.turns import ROUNDS, SpeedComparison, report_comparison
from translator.errors import ConfigError

GROUPS: dict[str, Callable[[], Iterator[SpeedComparison]]] = {
    "attention": attention_comparisons,
    "linear": linear_comparisons,
    "precision": precision_comparisons,
    "dropout": dropout_comparisons,
    "loss": loss_comparisons,
    "optimizer": optimizer_comparisons,
    "muon": muon_comparisons,
    "compile": compile_comparisons,
}


def bench_kernels(options: Options) -> Iterator[str]:
    """Yield the lines of a report on the groups in `options.only`, all when none is named.

    Raises:
        ConfigError: there is no such group.
    """
    unknown = [group for group in options.only if group not in GROUPS]
    if unknown:
        raise ConfigError(f"no group {', '.join(unknown)}; there are: {', '.join(GROUPS)}")
    torch.manual_seed(0)
    before = torch.get_float32_matmul_precision()
    yield f"kernels, torch {torch.__version__}, {torch.get_num_threads()} threads; ratio: times faster than the first"
    try:
        for group in options.only or GROUPS:
            for comparison in GROUPS[group]():
                yield from report_comparison(comparison, max(options.rounds, ROUNDS))
    finally:
        torch.set_float32_matmul_precision(before)

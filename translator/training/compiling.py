"""Compilation with `torch.compile`, for the one shape that all batches have.

Three graphs are compiled: encoder layer, decoder layer and output head. All layers of a stack share one graph. The
embeddings stay uncompiled.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
import torch._inductor.config

from translator.training.loss import TeacherForcing, head_loss, r_drop_loss


def compile_loss(loss: TeacherForcing, **options: Any) -> TeacherForcing:
    """Return `loss` with compiled head; also compile the layers of its model, in place.

    `options` are those of `torch.compile`, such as `fullgraph=True`.
    """
    # Kernels must not be chosen by timing: another choice changes the order of sums, so that a restart with an empty
    # cache of kernels would give other bits. Older versions of torch lack the setting.
    if hasattr(torch._inductor.config, "deterministic"):
        torch._inductor.config.deterministic = True
    # LayerNorm's backward pass sums over rows and over columns. One kernel for both is slower than two: 41.2 instead of
    # 39.5 ms an update of Transformer-base on an H100.
    if hasattr(torch._inductor.config.triton, "mix_order_reduction"):
        torch._inductor.config.triton.mix_order_reduction = False
    layers = [*loss.model.encoder.layers, *loss.model.decoder.layers]
    for layer in layers:
        layer.compile(dynamic=False, **options)
    return replace(
        loss,
        head_loss=torch.compile(head_loss, dynamic=False, **options),
        r_drop_loss=torch.compile(r_drop_loss, dynamic=False, **options),
    )


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Run compiled layers uncompiled: without dropout and gradients, a validation would compile them again."""
    with torch.compiler.set_stance("force_eager"):
        yield

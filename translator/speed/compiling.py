"""Layers compiled for the one shape of all batches; equal to those of `core/layers.py` and `core/transformer.py`.

A few graphs are compiled: encoder layer, decoder layer, the norm at the end of a stack, the element-wise part of the
embeddings, and output head. All layers of a stack share one graph. Look-ups stay uncompiled: the gradient of a compiled
one has another order of sums in each run.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
import torch._inductor.config
from torch import nn

from translator.core.layers import FinalNorm
from translator.core.loss import TeacherForcing, head_loss, r_drop_loss


def compile_loss(loss: TeacherForcing, **options: Any) -> TeacherForcing:
    """Return `loss` with its head loss compiled; also compile the layers of its model, in place.

    `options` are those of `torch.compile`, such as `fullgraph=True`.
    """
    # Kernels must not be chosen by timing: another choice changes the order of sums, so that a restart with an empty
    # cache of kernels would give other bits.
    torch._inductor.config.deterministic = True
    # LayerNorm's backward pass sums over rows and over columns. One kernel for both is slower than two: 41.2 instead of
    # 39.5 ms an update of Transformer-base on an H100.
    torch._inductor.config.triton.mix_order_reduction = False

    # What is compiled: layers, final norms, and the positions of embeddings. Learned positions are looked up, and the
    # compiled gradient of a look-up would differ between runs.
    model = loss.model
    modules: list[nn.Module] = [*model.encoder.layers, *model.decoder.layers]
    for norm in (model.encoder.norm, model.decoder.norm):
        if isinstance(norm, FinalNorm):  # a post-norm stack has none
            modules.append(norm)
    for embedding in (model.source_embedding, model.target_embedding):
        has_learned_positions = isinstance(embedding.positions.table, nn.Parameter)
        if not has_learned_positions:
            modules.append(embedding.positions)
    for module in modules:
        module.compile(dynamic=False, **options)
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

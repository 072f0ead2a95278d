"""Forward and backward pass as a CUDA graph, one launch instead of a thousand; plain: `core/update.py`.

A graph repeats the same kernels on the same addresses. So the batch is copied into a fixed buffer, the gradients are
views of one flat buffer (`FlatGradients`), and results are copied before the next replay overwrites them. The first
micro-batch of an update has a graph of its own, which replaces the gradients, and so have passes without dropout.
"""

from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from translator.core.batch import Batch
from translator.core.loss import TeacherForcing
from translator.core.update import ForwardBackward, Gradients
from translator.speed.gradients import FlatGradients

WARM_UPS: Final = 3  # passes before a capture, in which libraries allocate and layers compile


@dataclass(frozen=True)
class _Captured:
    """A graph with its fixed addresses."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    weight: Tensor  # ()
    token_losses: Tensor  # (R, L)


class CapturedForwardBackward:
    """A forward and backward pass, captured as a CUDA graph and replayed for each batch."""

    def __init__(self, forward_backward: ForwardBackward) -> None:
        """Take the function to capture, all of whose calls have one loss, one buffer of gradients and one shape."""
        self._forward_backward = forward_backward
        self._graphs_have_dropout = False  # with R-Drop, this also decides the number of passes
        self._graphs: dict[bool, _Captured] = {}  # by whether the pass is the first of an update

    def __call__(self, loss: TeacherForcing, gradients: Gradients, batch: Batch, weight: Tensor) -> Tensor:
        """Add the gradients of `batch` to `gradients`, which are `FlatGradients`; see `forward_backward` of the core.

        The batch is copied to the GPU without waiting if it is in page-locked memory.
        """
        assert isinstance(gradients, FlatGradients)
        # Dropout is switched on once in a run, and needs other graphs. Free the memory of the old ones first.
        if self._graphs_have_dropout != loss.model.training:
            self._graphs = {}
            self._graphs_have_dropout = loss.model.training

        # There are two graphs: the first pass of an update overwrites the gradients, the others add to them. Capture
        # each when it is needed for the first time.
        is_first = gradients.is_empty
        if is_first not in self._graphs:
            self._graphs[is_first] = self._capture(loss, gradients, batch, weight)
        captured = self._graphs[is_first]

        # Put the batch where the graph reads it, and run the graph.
        captured.batch.fields.copy_(batch.fields, non_blocking=True)
        captured.weight.copy_(weight)
        captured.graph.replay()
        gradients.is_empty = False
        return captured.token_losses.clone()  # the next replay overwrites them

    def _capture(self, loss: TeacherForcing, gradients: FlatGradients, batch: Batch, weight: Tensor) -> _Captured:
        """Return the graph of a pass over a batch of this shape; gradients and random state stay as they are."""
        # 1. The buffers that the graph reads. `to` does not copy a batch that is on the GPU already: clone it, because
        # its memory is the caller's.
        device = weight.device
        fixed_batch = batch.to(device)
        if fixed_batch.fields is batch.fields:
            fixed_batch = replace(batch, fields=batch.fields.clone())
        fixed_weight = weight.clone()

        # 2. Remember what the passes below change.
        gradients_before = gradients.flat.clone()
        is_first = gradients.is_empty
        random_state = torch.cuda.get_rng_state(device)

        # 3. Warm-up on another stream, as torch's documentation of CUDA graphs asks.
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                gradients.is_empty = is_first  # each pass sets it to False
                self._forward_backward(loss, gradients, fixed_batch, fixed_weight)
        torch.cuda.current_stream().wait_stream(stream)

        # 4. The capture. Other threads may use the GPU meanwhile: that of the data loader allocates page-locked memory.
        graph = torch.cuda.CUDAGraph()
        gradients.is_empty = is_first
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            token_losses = self._forward_backward(loss, gradients, fixed_batch, fixed_weight)

        # 5. Undo the changes: a resumed run captures at another update, and must have the same dropout as a run without
        # a stop.
        gradients.flat.copy_(gradients_before)
        gradients.is_empty = is_first
        torch.cuda.set_rng_state(random_state, device)
        return _Captured(graph=graph, batch=fixed_batch, weight=fixed_weight, token_losses=token_losses)

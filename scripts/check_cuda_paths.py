"""Run updates, a validation and searches on a simulated GPU: `python scripts/check_cuda_paths.py`.

Tensors are fake (torch's FakeTensorMode), with device, type and shape, but no content. This detects, without a GPU,
tensors left on the CPU, wrong types and reads that synchronize the GPU. The CUDA build of torch simulates `cuda`; with
other builds the device is the CPU, and only reads and graph breaks are detected. Exit code 1: a check failed.
"""

import contextlib
import inspect
import itertools
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import FakeTensorMode

import translator
from translator.config import Config, SearchConfig, parse_config
from translator.data import Batch, DataPosition, collate
from translator.data.batch import StepBatches
from translator.inference.torch_searcher import TorchSearcher
from translator.model import Transformer
from translator.model.device import Precision
from translator.training.distributed import Distributed
from translator.training.loss import TeacherForcing
from translator.training.precision import Choices, set_up_cuda
from translator.training.step import Updater

DEVICE = torch.device("cuda" if torch.version.cuda else "cpu")
PACKAGE = f"{Path(translator.__file__).parent}/"
RECIPE = """
run: {directory: runs/none}
corpus: {sources: [{name: none, path: none.tsv}]}
model: {d_model: 32, heads: 4, encoder_layers: 2, decoder_layers: 2, feed_forward: 64}
"""
VOCABULARY = 64


def main() -> int:
    """Run all checks, print one line for each, and return the exit code."""
    if DEVICE.type == "cuda":
        set_up_cuda()
    failed = 0
    for name, check in checks():
        try:
            found = check()
        except Exception:  # noqa: BLE001 - whatever it is, it is reported
            failed += 1
            found = failure()
        print(f"{DEVICE.type}: {name}: {found}", flush=True)
    print(f"{failed} failed")
    return int(failed > 0)


def failure() -> str:
    """Return the current exception, and its origin in our code."""
    _, error, trace = sys.exc_info()
    places = [place(frame) for frame in traceback.extract_tb(trace) if frame.filename.startswith(PACKAGE)]
    return f"FAILED at {' '.join(places[-3:])}: {type(error).__name__}: {str(error)[:300]}"


def place(frame: traceback.FrameSummary) -> str:
    """Return file and line of a frame."""
    return f"{frame.filename.removeprefix(PACKAGE)}:{frame.lineno}"


def checks() -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the name of each check, and the check, which returns its result or raises."""
    for precision, optimizer in itertools.product(("bf16", "fp16", "float32"), ("adamw", "muon")):
        settings = f"training.precision={precision}", f"training.optimizer={optimizer}"
        for packed in (False, True):
            name = f"{precision}, {optimizer}, {'packed' if packed else 'padded'}"
            yield f"update and validation, {name}", partial(update, settings, packed=packed)
    for extra in (
        *("model.norm=post", "model.positions=rotary", "model.activation=swiglu", "training.r_drop=1"),
        *("training.ema_decay=0.9", "training.attention=plain"),
    ):
        yield f"update and validation, {extra}", partial(update, (extra,))
    for method, kind in itertools.product(("greedy", "beam", "sampling"), (torch.float32, torch.bfloat16)):
        yield f"search, {method}, {kind}", partial(search, method, kind)
    yield "one graph", graph


def update(settings: tuple[str, ...], packed: bool = False) -> str:
    """Make two updates and a validation; only packing, and Muon once per update, may synchronize the GPU."""
    config = recipe(settings)
    precision: Precision = "bf16" if config.training.precision == "auto" else config.training.precision
    attention: Literal["fused", "plain"] = "plain" if packed or config.training.attention == "plain" else "fused"
    choices = Choices(precision, "high", packed, attention, False, {})
    with FakeTensorMode(allow_non_fake_inputs=True), reads() as waits:
        updater = Updater(config, (VOCABULARY, VOCABULARY), DEVICE, choices, Distributed())
        for number in (1, 2):
            pairs = batch()
            share = StepBatches((pairs,), pairs.target_tokens, pairs.source_tokens, 40, DataPosition())
            result = updater.update(share, number, with_block_norms=True)
        trained = list(waits)
        loss = TeacherForcing(updater.model.eval(), 0.0, 0.0, packed)
        on_device = batch().to(DEVICE)
        with torch.inference_mode(), updater.arithmetic.autocast():
            losses = loss(on_device.source, on_device.target_input, on_device.labels)
    for tensor in (result.gradient_norm, result.finite, *result.sentence_losses, losses.of_sentences):
        assert tensor.device.type == DEVICE.type, f"a result is on {tensor.device}"
    assert all(weight.dtype == torch.float32 for weight in updater.model.parameters())
    once = [read for read in trained if read.startswith("training/optimizer")]
    plain = attention == "plain" and DEVICE.type == "cpu"  # there it sorts rows by their lengths
    assert packed or plain or (trained == once and len(once) <= 2), f"an update waits for the GPU: {trained}"
    return f"fine; two updates wait {len(trained)} times" if trained else "fine"


def search(method: str, kind: torch.dtype) -> str:
    """Search a batch; simulated reads report no finished hypotheses."""
    with FakeTensorMode(allow_non_fake_inputs=True), reads() as waits:
        model = Transformer(recipe().model, VOCABULARY, VOCABULARY).to(DEVICE, kind).eval()
        searcher = TorchSearcher([model], DEVICE)
        config = SearchConfig.model_validate({"method": method, "min_length_ratio": 0.5, "no_repeat_ngram": 2})
        found = searcher.find([[5, 6, 7], [8]], config)
    assert len(found) == 2
    return f"fine; {len(waits)} reads"


def graph() -> str:
    """Check that everything up to the output head is one graph."""
    settings = ("model.positions=rotary", *(() if DEVICE.type == "cuda" else ("model.dropout=0",)))
    with FakeTensorMode(allow_non_fake_inputs=True), reads():
        model = Transformer(recipe(settings).model, VOCABULARY, VOCABULARY)
        pairs = batch().to(DEVICE)
        explained = torch._dynamo.explain(model.to(DEVICE).states)(pairs.source, pairs.target_input)
    assert explained.graph_break_count == 0, explained.break_reasons
    return "fine"


def recipe(settings: tuple[str, ...] = ()) -> Config:
    """Return a small recipe."""
    return parse_config(RECIPE, "the recipe of the check", settings)


def batch() -> Batch:
    """Return two pairs of unequal length, on the CPU."""
    return collate([[5, 6, 7, 8], [9]], [[10, 11], [12, 13, 14]], [0, 1])


@contextlib.contextmanager
def reads() -> Iterator[list[str]]:
    """Replace reads that synchronize the GPU by made-up values inside the block, and list their places."""
    found: list[str] = []

    def answer(value: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        def read(tensor: Tensor, *_: object, **__: object) -> Any:
            if tensor.device.type == DEVICE.type:
                caller = next(f for f in reversed(traceback.extract_stack()) if f.filename.startswith(PACKAGE))
                found.append(place(caller))
            return value(tensor)

        return read

    def content(tensor: Tensor) -> np.ndarray[Any, Any]:
        values = np.zeros(tuple(tensor.shape)) if tensor.is_floating_point() else np.arange(tensor.numel()) % 4
        return values.reshape(tuple(tensor.shape)).astype(str(tensor.dtype).removeprefix("torch."))

    names = {
        "item": lambda tensor: 4,
        "__int__": lambda tensor: 4,
        "__bool__": lambda tensor: False,
        "tolist": lambda tensor: content(tensor).tolist(),
        "numpy": content,
    }
    with contextlib.ExitStack() as stack:
        for name, value in names.items():
            stack.enter_context(patch.object(Tensor, name, answer(value)))
        # A fake tensor of known values is really computed, which needs the device.
        stack.enter_context(patch.object(torch, "tensor", without_values))
        stack.enter_context(
            patch.object(Tensor, "new_tensor", lambda like, values: without_values(values, like.dtype, like.device))
        )
        stack.enter_context(patch.object(nn.Module, "_apply", replaced))
        stack.enter_context(patch.object(Tensor, "pin_memory", lambda tensor: tensor))
        stack.enter_context(patch.object(Tensor, "backward", backward))
        stack.enter_context(patch.object(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False))
        stack.enter_context(patch.object(torch.cuda, "is_bf16_supported", lambda: True))

        def nonzero(mode: FakeTensorMode, function: object, mask: Tensor) -> Tensor:
            answer(lambda tensor: None)(mask)
            with mode:
                return torch.empty(mask.numel(), mask.dim(), dtype=torch.int64, device=mask.device)

        implementations = fake_impls.op_implementations_dict
        stack.enter_context(patch.dict(implementations, {torch.ops.aten.nonzero.default: nonzero}))
        yield found


def without_values(values: Any, dtype: torch.dtype | None = None, device: Any = None) -> Tensor:
    """Return the result of `torch.tensor` without the values."""
    found = np.asarray(values)
    return torch.empty(found.shape, dtype=dtype or torch.from_numpy(found.reshape(-1)[:0]).dtype, device=device)


def backward(loss: Tensor) -> None:
    """Run the backward pass node by node, since torch's engine needs the driver of the GPU."""
    assert loss.grad_fn is not None
    order: dict[Any, None] = {}

    def visit(node: Any) -> None:
        if node not in order:
            for after, _ in node.next_functions:
                if after is not None:
                    visit(after)
            order[node] = None

    visit(loss.grad_fn)
    gradients: dict[Any, dict[int, Tensor]] = {loss.grad_fn: {loss.output_nr: torch.ones_like(loss)}}
    for node in reversed(order):
        given = gradients.pop(node, {})
        if hasattr(node, "variable"):  # accumulates the gradient of a weight
            for gradient in given.values():
                weight = node.variable
                weight.grad = gradient if weight.grad is None else weight.grad + gradient
            continue
        ours = getattr(type(node), "_forward_cls", None)  # of a function that is written in Python
        count = max(given, default=0) + 1 if ours is None else len(inspect.signature(ours.backward).parameters) - 1
        found = (node if ours is None else node.apply)(*map(given.get, range(count)))
        each = found if isinstance(found, tuple) else (found,)
        for (after, number), gradient in zip(node.next_functions, each, strict=False):
            if after is not None and gradient is not None:
                wanted = after._input_metadata[number]  # torch's engine also gives a gradient this form
                assert gradient.device == wanted.device, f"a gradient of {node} is on {gradient.device}"
                gradient = gradient.sum_to_size(wanted.shape).to(wanted.dtype)
                into = gradients.setdefault(after, {})
                into[number] = gradient if number not in into else into[number] + gradient


def replaced(model: nn.Module, change: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
    """Replace the tensors of `model`, as `Module.to`, which cannot do so in place for fake tensors."""
    seen: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, weight in module._parameters.items():
            if weight is not None:
                module._parameters[name] = seen.setdefault(id(weight), nn.Parameter(change(weight)))
        for name, buffer in module._buffers.items():
            module._buffers[name] = None if buffer is None else change(buffer)
    return model


if __name__ == "__main__":
    sys.exit(main())

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
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import FakeTensorMode

import translator
from translator.config import Config, SearchConfig, parse_config
from translator.core.loss import Losses, TeacherForcing, head_loss
from translator.core.transformer import Transformer
from translator.core.update import Learner, StepResult
from translator.data import Batch, StepBatches, collate_rows
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.search.request import SearchRequest
from translator.speed.blockwise_loss import blockwise_head_loss
from translator.speed.compiling import compile_loss
from translator.speed.device import Arithmetic, Precision
from translator.speed.gradients import FlatGradients
from translator.training.distributed import Distributed
from translator.training.learner import build_learner
from translator.training.moving_average import MovingAverage
from translator.training.precision import Choices, set_up_cuda

DEVICE: Final = torch.device("cuda" if torch.version.cuda else "cpu")
PACKAGE: Final = f"{Path(translator.__file__).parent}/"
RECIPE: Final = """
run: {directory: runs/none}
corpus: {sources: [{name: none, path: none.tsv}]}
model: {d_model: 32, heads: 4, encoder_layers: 2, decoder_layers: 2, feed_forward: 64}
"""
VOCABULARY: Final = 64
UPDATES: Final = 2  # the second one finds the state of the optimizer
VARIANTS: Final = (
    "model.norm=post",
    "model.positions=rotary",
    "model.activation=swiglu",
    "model.attention_dropout=0.1",
    "training.r_drop=1",
    "training.ema_decay=0.9",
)
"""Settings that each replace a part of the update."""

ROW_LENGTH: Final = 12
ROWS: Final[Sequence[Sequence[tuple[list[int], list[int]]]]] = (
    [([5, 6, 7, 8], [10, 11]), ([9], [12, 13, 14])],
    [([5], [6])],
    [],
)
"""Three rows: two sentence pairs, one pair, and none, as at the end of an epoch."""

Check = Callable[[], str]  # returns its result, which begins with "fine", or raises


def main() -> int:
    """Run all checks, print one line for each, and return the exit code."""
    if DEVICE.type == "cuda":
        set_up_cuda()
    failures = 0
    for name, check in checks():
        try:
            result = check()
        except Exception:  # noqa: BLE001 - whatever it is, it is reported
            failures += 1
            result = current_failure()
        print(f"{DEVICE.type}: {name}: {result}", flush=True)
    print(f"{failures} failed")
    return int(failures > 0)


def current_failure() -> str:
    """Return the current exception, and its origin in our code."""
    _, error, trace = sys.exc_info()
    places = []
    for frame in traceback.extract_tb(trace):
        if frame.filename.startswith(PACKAGE):
            places.append(place(frame))
    return f"FAILED at {' '.join(places[-3:])}: {type(error).__name__}: {str(error)[:300]}"


def place(frame: traceback.FrameSummary) -> str:
    """Return file and line of a frame."""
    return f"{frame.filename.removeprefix(PACKAGE)}:{frame.lineno}"


def checks() -> Iterator[tuple[str, Check]]:
    """Yield the name of each check, and the check."""
    for precision, optimizer in itertools.product(("bf16", "fp16", "float32"), ("adamw", "muon")):
        settings = (f"training.precision={precision}", f"training.optimizer={optimizer}")
        yield f"update and validation, {precision}, {optimizer}", partial(check_update, settings)
    for setting in VARIANTS:
        yield f"update and validation, {setting}", partial(check_update, (setting,))
    for method, dtype in itertools.product(("greedy", "beam", "sampling"), (torch.float32, torch.bfloat16)):
        yield f"search, {method}, {dtype}", partial(check_search, method, dtype)
    yield "graphs", partial(check_graphs, ())
    yield "graphs, R-Drop", partial(check_graphs, ("training.r_drop=1",))


# --- the checks ---


def check_update(settings: tuple[str, ...]) -> str:
    """Make two updates, which may not wait for the GPU, and compute the losses of a validation batch."""
    config = recipe(settings)
    with FakeTensorMode(allow_non_fake_inputs=True), simulated_reads() as reads:
        chosen = choices(config)
        arithmetic = Arithmetic(DEVICE, chosen.precision)
        learner = build_learner(config, (VOCABULARY, VOCABULARY), DEVICE, chosen, Distributed())
        # Those of a GPU, also where the simulated device is the CPU.
        gradients = FlatGradients(list(learner.loss.model.parameters()), lambda values: None)

        learner = replace(learner, gradients=gradients)
        result = make_updates(learner, config)
        assert not reads, f"an update waits for the GPU: {reads}"
        losses = validation_losses(learner, arithmetic)

    # Everything stays on the device, and the weights stay float32.
    tensors = [result.gradient_norm, result.finite, *result.token_losses, *losses]
    for tensor in tensors:
        assert tensor.device.type == DEVICE.type, f"a result is on {tensor.device}"
    for token_losses in (*result.token_losses, losses.of_tokens):
        assert token_losses.shape == batch().labels.shape
        assert token_losses.dtype == torch.float32
    assert all(weight.dtype == torch.float32 for weight in learner.loss.model.parameters())
    return "fine"


def choices(config: Config) -> Choices:
    """Return the settings for the simulated GPU: those of `config`, with bf16 for `auto`."""
    precision: Precision = "bf16" if config.training.precision == "auto" else config.training.precision
    return Choices(
        precision=precision,
        compile=False,
        capture=False,
    )


def make_updates(learner: Learner, config: Config) -> StepResult:
    """Make `UPDATES` updates of two micro-batches each, and move the average of the weights; return the last result."""
    average = None
    if config.training.ema_decay:
        average = MovingAverage(learner.loss.model, config.training.ema_decay)
    for number in range(1, UPDATES + 1):
        micro_batches = (batch(), batch())
        share = StepBatches(
            batches=micro_batches,
            target_tokens=sum(micro_batch.target_tokens for micro_batch in micro_batches),
        )
        result = learner.update(share, number)
        if average is not None:
            average.update(learner.loss.model)
    return result


def validation_losses(learner: Learner, arithmetic: Arithmetic) -> Losses:
    """Return the losses of a validation batch."""
    model = learner.loss.model.eval()
    loss = TeacherForcing(model, label_smoothing=0.0, r_drop=0.0, head_loss=blockwise_head_loss)
    with torch.inference_mode(), arithmetic.autocast():
        return loss(batch().to(DEVICE))


def check_search(method: str, dtype: torch.dtype) -> str:
    """Search two sentences; simulated reads report no finished hypotheses."""
    config = SearchConfig.model_validate({"method": method, "min_length_ratio": 0.5, "no_repeat_ngram": 2})
    with FakeTensorMode(allow_non_fake_inputs=True), simulated_reads() as reads:
        model = Transformer(recipe().model.settings, VOCABULARY, VOCABULARY).to(DEVICE, dtype).eval()
        searcher = TorchSearcher([model], DEVICE)
        hypotheses = searcher.find(SearchRequest([[5, 6, 7], [8]], config))
    assert len(hypotheses) == 2
    return f"fine; {len(reads)} reads"


def check_graphs(settings: tuple[str, ...]) -> str:
    """Check that each compiled part is one graph, and that all layers of a stack share theirs."""
    graphs = []

    def record_graph(module: torch.fx.GraphModule, _: list[Tensor]) -> Callable[..., Any]:
        graphs.append(module)
        return module.forward

    settings = ("model.positions=rotary", "model.attention_dropout=0.1", *settings)
    config = recipe(settings)
    torch.compiler.reset()
    with FakeTensorMode(allow_non_fake_inputs=True), simulated_reads() as reads:
        model = Transformer(config.model.settings, VOCABULARY, VOCABULARY).to(DEVICE)
        loss = TeacherForcing(model, label_smoothing=0.1, r_drop=config.training.r_drop, head_loss=head_loss)
        # With `fullgraph`, torch raises an error at a graph break.
        compiled = compile_loss(loss, fullgraph=True, backend=record_graph)
        # A second batch of the same shape compiles nothing.
        for rows in (ROWS, ROWS[::-1]):
            compiled(collate_rows(rows, ROW_LENGTH).to(DEVICE))
    torch.compiler.reset()
    # Encoder layer, decoder layer, final norm, embedding, output head.
    assert len(graphs) == 5, f"{len(graphs)} graphs"
    assert not reads, f"a compiled pass waits for the GPU: {reads}"
    return "fine"


def recipe(settings: tuple[str, ...] = ()) -> Config:
    """Return a small recipe."""
    return parse_config(RECIPE, "the recipe of the check", settings)


def batch() -> Batch:
    """Return a small batch, on the CPU."""
    return collate_rows(ROWS, ROW_LENGTH)


# --- the simulation ---


@contextlib.contextmanager
def simulated_reads() -> Iterator[list[str]]:
    """Replace reads that synchronize the GPU by made-up values inside the block, and list their places."""
    reads: list[str] = []

    def note(tensor: Tensor) -> None:
        if tensor.device.type == DEVICE.type:
            frames = [frame for frame in traceback.extract_stack() if frame.filename.startswith(PACKAGE)]
            reads.append(place(frames[-1]))

    def reading(value_of: Callable[[Tensor], Any]) -> Callable[..., Any]:
        """Return a method of tensors that notes the read and returns a made-up value."""

        def read(tensor: Tensor, *_: object, **__: object) -> Any:
            note(tensor)
            return value_of(tensor)

        return read

    def nonzero(mode: FakeTensorMode, _: object, mask: Tensor) -> Tensor:
        note(mask)
        with mode:
            return torch.empty(mask.numel(), mask.dim(), dtype=torch.int64, device=mask.device)

    made_up_values: dict[str, Callable[[Tensor], Any]] = {
        "item": lambda tensor: 4,
        "__int__": lambda tensor: 4,
        "__float__": lambda tensor: 4.0,
        "__bool__": lambda tensor: False,
        "tolist": lambda tensor: made_up_content(tensor).tolist(),
        "numpy": made_up_content,
    }
    with contextlib.ExitStack() as stack:
        # `copy.deepcopy` asks for the address of a tensor, which a fake one lacks.
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", "Accessing the data pointer of FakeTensor")
        for name, value_of in made_up_values.items():
            stack.enter_context(patch.object(Tensor, name, reading(value_of)))
        nonzero_rule = {torch.ops.aten.nonzero.default: nonzero}
        stack.enter_context(patch.dict(fake_impls.op_implementations_dict, nonzero_rule))
        # A fake tensor of known values is really computed, which needs the device.
        stack.enter_context(patch.object(torch, "tensor", without_values))
        stack.enter_context(patch.object(Tensor, "new_tensor", like_without_values))
        # Operations that need the driver of the GPU.
        stack.enter_context(patch.object(nn.Module, "_apply", replace_tensors))
        stack.enter_context(patch.object(Tensor, "pin_memory", lambda tensor: tensor))
        stack.enter_context(patch.object(torch.autograd, "grad", grad))
        stack.enter_context(patch.object(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False))
        stack.enter_context(patch.object(torch.cuda, "is_bf16_supported", lambda: True))
        yield reads


def made_up_content(tensor: Tensor) -> NDArray[Any]:
    """Return an array of the shape and type of `tensor`: zeros, or small integers."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_floating_point():
        return np.zeros(tuple(tensor.shape), dtype)
    values = np.arange(tensor.numel()) % 2
    return values.reshape(tuple(tensor.shape)).astype(dtype)


def without_values(values: Any, dtype: torch.dtype | None = None, device: Any = None) -> Tensor:
    """Return the result of `torch.tensor` without the values."""
    array = np.asarray(values)
    if dtype is None:
        dtype = torch.from_numpy(array.reshape(-1)[:0]).dtype
    return torch.empty(array.shape, dtype=dtype, device=device)


def like_without_values(like: Tensor, values: Any) -> Tensor:
    """Return the result of `like.new_tensor` without the values."""
    return without_values(values, like.dtype, like.device)


def grad(loss: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    """Return the result of `torch.autograd.grad`, node by node, since torch's engine needs the driver of the GPU."""
    assert loss.grad_fn is not None
    weight_gradients: dict[Tensor, Tensor] = {}
    # The gradients of the outputs of each node, by the number of the output.
    gradients: dict[Any, dict[int, Tensor]] = {loss.grad_fn: {loss.output_nr: torch.ones_like(loss)}}
    for node in backward_order(loss.grad_fn):
        output_gradients = gradients.pop(node, {})
        # 1. A weight keeps the gradient.
        if hasattr(node, "variable"):
            (weight_gradients[node.variable],) = output_gradients.values()
            continue
        # 2. Any other node computes the gradients of its inputs.
        input_gradients = apply_node(node, output_gradients)
        # 3. They are output gradients of the nodes before it.
        for (earlier, number), gradient in zip(node.next_functions, input_gradients, strict=False):
            if earlier is None or gradient is None:
                continue
            # Torch's engine also gives a gradient the shape and type of the tensor.
            metadata = earlier._input_metadata[number]
            assert gradient.device == metadata.device, f"a gradient of {node} is on {gradient.device}"
            addend = gradient.sum_to_size(metadata.shape).to(metadata.dtype)
            sums = gradients.setdefault(earlier, {})
            sums[number] = sums[number] + addend if number in sums else addend
    return [weight_gradients[weight].detach() for weight in weights]


def backward_order(last: Any) -> list[Any]:
    """Return the nodes of the graph that ends in `last`, each before the nodes that computed its inputs."""
    finished: dict[Any, None] = {}

    def visit(node: Any) -> None:
        if node in finished:
            return
        for earlier, _ in node.next_functions:
            if earlier is not None:
                visit(earlier)
        finished[node] = None

    visit(last)
    return list(reversed(finished))


def apply_node(node: Any, output_gradients: dict[int, Tensor]) -> tuple[Tensor | None, ...]:
    """Return the gradients of the inputs of `node`, given those of its outputs by number."""
    function = getattr(type(node), "_forward_cls", None)  # only of a function that is written in Python
    if function is None:
        count = max(output_gradients, default=0) + 1
        result = node(*map(output_gradients.get, range(count)))
    else:
        count = len(inspect.signature(function.backward).parameters) - 1  # without the context
        result = node.apply(*map(output_gradients.get, range(count)))
    return result if isinstance(result, tuple) else (result,)


def replace_tensors(model: nn.Module, change: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
    """Replace the tensors of `model`, as `Module.to`, which cannot do so in place for fake tensors."""
    new_weights: dict[int, nn.Parameter] = {}  # by the identity of the old one, since modules share weights
    for module in model.modules():
        for name, weight in module._parameters.items():
            if weight is not None:
                module._parameters[name] = new_weights.setdefault(id(weight), nn.Parameter(change(weight)))
        for name, buffer in module._buffers.items():
            module._buffers[name] = None if buffer is None else change(buffer)
    return model


if __name__ == "__main__":
    sys.exit(main())

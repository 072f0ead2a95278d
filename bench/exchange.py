"""The exchange of gradients over a slow link: after the backward pass or in pieces during it, as float32 or bf16.

Two ranks exchange the gradients of Transformer-base through Gloo and a loopback device whose rate Linux limits, in a
network of their own. A GPU computes beside its host, so the stand-in for its work sleeps. The ratios of exchange to
update are those of docs/scaling.md; updates take ten times as long, with a 64th of the weights, so that the cost of
Gloo itself is small.
"""

import functools
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor, nn

from bench.options import FailedError, Options, spread
from bench.processes import environment
from translator.speed.gradients import FlatGradients, GradientExchange
from translator.training.distributed import Distributed

WIDTH: Final = 512
LAYERS: Final = 6  # of either network
PIECES: Final = 32_000
SCALE: Final = 64  # by which the number of weights is divided
UPDATE: Final = 0.23  # seconds of work in an update
PIECE: Final = 25e6 / SCALE  # bytes of a piece of the exchange, as in DistributedDataParallel
UPDATES: Final = 7
LINKS: Final = {
    # Both directions share the loopback device, so its rate is twice that of a direction.
    "InfiniBand (11 ms beside 23 ms)": "700mbit",
    "Ethernet, 25 Gbit/s (172 ms beside 23 ms)": "44.6mbit",
}
PORT: Final = 29_551


@dataclass(frozen=True)
class Part:
    """A part of the model: some weights, and the work of their backward pass."""

    weights: int
    work: float  # operations, in any unit


def parts() -> list[Part]:
    """Return the parts of Transformer-base in the order of the forward pass; the last one shares weights."""
    attention, feed_forward = 4 * WIDTH * WIDTH, 8 * WIDTH * WIDTH
    embedding = Part(PIECES * WIDTH // SCALE, 0)
    encoder_layer = Part((attention + feed_forward) // SCALE, attention + feed_forward)
    decoder_layer = Part((2 * attention + feed_forward) // SCALE, 2 * attention + feed_forward)
    return [embedding, *LAYERS * [encoder_layer], embedding, *LAYERS * [decoder_layer]]


class Work(torch.autograd.Function):
    """A function whose backward pass takes some seconds, in which the processor rests."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor, seconds: float) -> Tensor:
        ctx.seconds = seconds
        ctx.shape = weights.shape
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        time.sleep(ctx.seconds)
        return gradient, torch.ones(ctx.shape), None


def work_of(x: Tensor, weights: Tensor, seconds: float) -> Tensor:
    """Return `x`, as the result of some weights whose backward pass takes `seconds`."""
    result: Tensor = Work.apply(x, weights, seconds)  # type: ignore[no-untyped-call]
    return result


class Model(nn.Module):
    """A stand-in for a model on a GPU: weights, and passes that take as long as they should."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = parts()
        self.weights = nn.ParameterList(torch.zeros(part.weights) for part in self.parts)
        self.head = PIECES * WIDTH  # work of the output head, which shares the target embedding
        self.work = self.head + sum(part.work for part in self.parts)

    def forward(self) -> Tensor:
        """Return a loss after a third of the work; its backward pass is the rest."""
        time.sleep(UPDATE / 3)
        backward = UPDATE * 2 / 3
        x = torch.zeros((), requires_grad=True)
        for part, weights in zip(self.parts, self.weights, strict=True):
            x = work_of(x, weights, backward * part.work / self.work)
        return work_of(x, self.weights[LAYERS + 1], backward * self.head / self.work)


@dataclass
class PiecewiseExchange:
    """Sends the gradient of each group of weights as soon as the backward pass has it; the last weights first."""

    gradients: FlatGradients
    groups: list[list[int]] = field(default_factory=list)  # numbers of weights
    pending: list[dist.Work] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.groups = [[]]
        size = 0
        for number in reversed(range(len(self.gradients.parameters))):
            if size >= PIECE:
                self.groups.append([])
                size = 0
            self.groups[-1].append(number)
            size += 4 * self.gradients.parameters[number].numel()
        for number, weights in enumerate(self.gradients.parameters):
            hook = functools.partial(self._ready, number)
            weights.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
        self.active = False

    def run(self, loss: Tensor) -> None:
        """Add the gradients of `loss`, summed over all ranks."""
        self.missing = [set(group) for group in self.groups]
        self.pending = []
        self.active = True
        loss.backward()  # type: ignore[no-untyped-call]
        self.active = False
        for piece in self.pending:
            piece.wait()

    def _ready(self, number: int, _: Tensor) -> None:
        if not self.active:
            return
        for group in self.missing:
            group.discard(number)
        # All ranks send the pieces in the same order.
        while len(self.pending) < len(self.groups) and not self.missing[len(self.pending)]:
            group_numbers = self.groups[len(self.pending)]
            views = [self.gradients.parameters[weights].grad for weights in group_numbers]
            first = views[-1]
            assert first is not None
            size = sum(view.numel() for view in views if view is not None)
            begin = first.storage_offset()
            piece = dist.all_reduce(self.gradients.flat[begin : begin + size], async_op=True)
            assert piece is not None
            self.pending.append(piece)


def updates(model: Model) -> dict[str, Callable[[], None]]:
    """Return the ways to make an update, by name."""
    weights = list(model.parameters())
    distributed = Distributed(world_size=2)

    def alone() -> None:
        torch.autograd.grad(model(), weights)

    def at_once(exchange: GradientExchange) -> Callable[[], None]:
        gradients = FlatGradients(weights, distributed.sum_in_place, exchange)

        def update() -> None:
            gradients.clear()
            gradients.add(torch.autograd.grad(model(), weights))
            gradients.sum_over_ranks()

        return update

    ways = {
        "no exchange": alone,
        "after the pass, float32": at_once("float32"),
        "after the pass, bf16": at_once("bf16"),
    }
    piecewise = PiecewiseExchange(FlatGradients(weights, distributed.sum_in_place))

    def in_pieces() -> None:
        piecewise.gradients.clear()
        piecewise.run(model())

    return {**ways, "in pieces during the pass": in_pieces}


def rank_main(rank: int) -> None:
    """Make updates in each way in turn, as one of two ranks; rank 0 prints the times in milliseconds."""
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    ways = updates(Model())
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(UPDATES + 1):
        for name, update in ways.items():
            dist.barrier()
            began = time.perf_counter()
            update()
            if number > 0:  # the first one connects and allocates
                times[name].append(1000 * (time.perf_counter() - began))
    if rank == 0:
        for name, milliseconds in times.items():
            alone = statistics.median(times["no exchange"])
            ratio = statistics.median(milliseconds) / alone
            print(f"    {name:<26} {spread(milliseconds, '{:,.0f}')} ms, {ratio:.2f} times the work", flush=True)
    dist.destroy_process_group()


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report; raise FailedError where the rate of a link cannot be limited."""
    weights = sum(part.weights for part in parts())
    yield (
        f"exchange of {4 * weights / 1e6:.1f} MB of gradients between two ranks, {1000 * UPDATE:.0f} ms of work an "
        "update, median (lowest to highest)"
    )
    for tool in ("unshare", "ip", "tc"):
        if shutil.which(tool) is None or os.geteuid() != 0:
            raise FailedError(f"the exchange needs Linux, root, and `{tool}` (packages util-linux and iproute2)")
    for link, rate in LINKS.items():
        yield f"  {link}"
        yield from over_link(rate)


def over_link(rate: str) -> Iterator[str]:
    """Yield the times of two ranks in a network of their own, whose loopback device has this rate."""
    rank = f"{sys.executable} -m bench.exchange"
    script = (
        f"ip link set lo up && tc qdisc add dev lo root tbf rate {rate} burst 128k latency 500ms && "
        f"{{ {rank} 1 & {rank} 0; wait; }}"
    )
    command = ["unshare", "--net", "sh", "-c", script]
    done = subprocess.run(command, env=environment(threads=1), capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout:
        raise FailedError(f"the exchange did not run: {done.stderr.strip()[-300:]}")
    yield from done.stdout.rstrip().splitlines()


if __name__ == "__main__":
    rank_main(int(sys.argv[1]))

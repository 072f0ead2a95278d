"""What the processes of the tests do: `python member.py VERB FOLDER WORD...`, started by the launcher."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file
from small_model import small_model
from torch import nn
from training.several.gradient_steps import ACCUMULATIONS, add_gradient, share_of, tiny_pass

from translator.errors import CorpusError, Interrupted, TranslatorError
from translator.signals import StopRequest, stop_on_signals
from translator.training.launch import handed_over
from translator.training.lost_process import LostProcessError
from translator.training.ranks import Ranks


def work(ranks: Ranks, folder: Path, stop: StopRequest) -> None:
    """Talk, add up gradients, and then end as the last word says."""
    talk(ranks, folder)
    model = small_model(dropout=0.0).double()
    if not ranks.main:  # the weights of rank 0 count
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(1.0)
    wrapped = ranks.wrap(model)
    gradients(ranks, wrapped, model, folder)
    if sys.argv[-1] == "die":
        die(ranks, wrapped, folder, stop)
    ask_to_stop(ranks, folder, stop)


def talk(ranks: Ranks, folder: Path) -> None:
    """Write down what the messages came to."""
    said = [
        bool(ranks.sum([0.0])[0]),
        bool(ranks.sum([float(ranks.rank == ranks.world - 1)])[0]),
        ranks.sum([0.1 * (ranks.rank + 1), 1e300]),
        ranks.gather_text("سلام" * ranks.rank),
        os.environ["OMP_NUM_THREADS"],
    ]
    with ranks.first_on_each_machine(), (folder / "order").open("a", encoding="utf-8") as file:
        if ranks.main:
            time.sleep(0.2)
        file.write("first " if ranks.main else "later ")
    (folder / f"talk-{ranks.rank}").write_text(repr(said), encoding="utf-8")


def gradients(ranks: Ranks, wrapped: nn.Module, model: nn.Module, folder: Path) -> None:
    """Write down the gradient of each step: added up with the last batch or afterwards, and of the first step again."""
    ranks.exchange(wrapped, lambda: tiny_pass(wrapped))
    model.zero_grad(set_to_none=True)
    found: dict[str, torch.Tensor] = {}
    steps = [(accumulation, kind) for accumulation in reversed(ACCUMULATIONS) for kind in ("plain", "careful")]
    for accumulation, kind in (*steps, (steps[0][0], "again")):
        step = share_of(accumulation, ranks.rank, ranks.world)
        alone = step.batches if kind == "careful" else step.batches[:-1]
        for batch in alone:
            with ranks.local(wrapped):
                add_gradient(wrapped, batch, step.target_tokens)
        if len(alone) < len(step.batches):
            with ranks.connected():
                add_gradient(wrapped, step.batches[-1], step.target_tokens)
        else:
            ranks.exchange(wrapped, lambda: tiny_pass(wrapped))
        assert model.training
        for key, parameter in model.named_parameters():
            assert parameter.grad is not None
            found[f"{accumulation}-{kind}.{key}"] = parameter.grad.clone()
        model.zero_grad(set_to_none=True)
    save_file(found, folder / f"gradients-{ranks.rank}")
    empty = [number for number in ACCUMULATIONS if not share_of(number, ranks.rank, ranks.world).batches]
    (folder / f"empty-{ranks.rank}").write_text(str(len(empty)))


def die(ranks: Ranks, wrapped: nn.Module, folder: Path, stop: StopRequest) -> None:
    """Kill one rank while the other waits for its gradient.

    As in training, the other one is not torn from its step by the launcher, which ends it as soon as it sees the loss.
    """
    if ranks.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        with stop.deferred():
            ranks.exchange(wrapped, lambda: tiny_pass(wrapped))
    except LostProcessError as error:
        (folder / "lost").write_text(str(error))
        raise


def ask_to_stop(ranks: Ranks, folder: Path, stop: StopRequest) -> None:
    """Take steps until somebody is asked to stop; all stop after the same one, and wait until the first has saved."""
    count = 0
    with stop.deferred():
        while not ranks.sum([float(stop.requested)])[0]:
            count += 1
            if count == 3:
                (folder / f"process-{ranks.rank}").write_text(str(os.getpid()))
                if ranks.main and sys.argv[-1] == "ask":
                    os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(0.01)
        if ranks.main:
            time.sleep(0.3)
        (folder / f"stopped-{ranks.rank}").write_text(str(count))
        ranks.barrier()
    stop.check()
    raise Interrupted(signal.SIGTERM)


def fall_out(ranks: Ranks, folder: Path, stop: StopRequest) -> None:
    """Meet a user's mistake on one rank, while the other waits for it."""
    if ranks.rank == 1:
        raise CorpusError("there is no corpus")
    ranks.barrier()


def ignore(ranks: Ranks, folder: Path, stop: StopRequest) -> None:
    """Do not stop when asked once."""
    with stop.deferred():
        if ranks.main:
            os.kill(os.getppid(), signal.SIGINT)
        while not stop.requested:
            time.sleep(0.01)
        if ranks.main:
            os.kill(os.getppid(), signal.SIGINT)
        time.sleep(600)


VERBS: dict[str, Callable[[Ranks, Path, StopRequest], None]] = {
    "work": work,
    "steps": ask_to_stop,
    "fall_out": fall_out,
    "ignore": ignore,
}


def main() -> int:
    """Do with errors as the command line does."""
    try:
        with stop_on_signals() as stop, Ranks.join(torch.device("cpu")) as ranks:
            VERBS[sys.argv[1]](ranks, Path(sys.argv[2]), stop)
    except TranslatorError as error:
        if not handed_over(error):
            print(f"member: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except Interrupted as interrupted:
        return interrupted.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

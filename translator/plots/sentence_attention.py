"""Where each head of each layer of a model looks while it translates one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from translator.errors import InputError
from translator.inference.loading import load_runs
from translator.inference.pieces import SourceCutter
from translator.inference.torch_searcher import TorchSearcher
from translator.special_tokens import EOS, SOS

Kind = Literal["cross", "encoder", "decoder"]
KINDS: Final[tuple[Kind, ...]] = ("cross", "encoder", "decoder")
"""From the target to the source; of the source to itself; of the target to itself."""


class Panel(NamedTuple):
    """One map of a picture."""

    title: str
    weights: npt.NDArray[np.floating[Any]]
    """(T, S); each row sums to 1."""


@dataclass(frozen=True)
class SentenceAttention:
    """The attention of all layers and heads of one kind, over one sentence."""

    kind: Kind
    looking: Sequence[str]
    """T pieces that look: of cross-attention those that are produced, else those that are there."""
    looked_at: Sequence[str]
    """S pieces that are looked at."""
    weights: npt.NDArray[np.float32]
    """(layers, H, T, S); each row sums to 1."""

    def panels(self, layer: str = "last", head: str = "mean") -> list[Panel]:
        """Return the maps that are asked for, layer by layer.

        Args:
            layer: `last`, `all`, or a number from 1.
            head: `mean` of all, `all` one by one, or a number from 1.

        Raises:
            InputError: there is no such layer, or no such head.
        """
        layers, heads = self.weights.shape[:2]
        found = []
        for of_layer in [layers - 1] if layer == "last" else _chosen("layer", layer, layers):
            maps = self.weights[of_layer]  # (H, T, S)
            if head == "mean":
                found.append(Panel(f"layer {of_layer + 1}, mean of {heads} heads", maps.mean(axis=0)))
                continue
            found += [
                Panel(f"layer {of_layer + 1}, head {of_head + 1}", maps[of_head])
                for of_head in _chosen("head", head, heads)
            ]
        return found


def _chosen(name: str, asked: str, count: int) -> list[int]:
    """Return which of `count` things are asked for, from 0.

    Raises:
        InputError: none is.
    """
    if asked == "all":
        return list(range(count))
    if asked.isascii() and asked.isdigit() and 1 <= int(asked) <= count:
        return [int(asked) - 1]
    special = "last" if name == "layer" else "mean"
    raise InputError(
        f"--{name} {asked} is not there: the model has {count} of them here; give a number from 1 to {count}, "
        f"{special} or all"
    )


def look(
    run: Path | str,
    text: str,
    *,
    kind: Kind = "cross",
    checkpoint: str = "best",
    overrides: Sequence[str] = (),
) -> SentenceAttention:
    """Translate `text` with a run and return where the model looked; of a text that is too long, its first piece.

    Args:
        run: folder of the run.
        text: an English sentence.
        kind: which attention.
        checkpoint: `best`, `last`, `averaged` or a step number.
        overrides: `key.path=value` for settings of the search.

    Raises:
        RunError: there is no run in the folder, or it is damaged.
        ConfigError: an override is wrong.
        InputError: the text is empty.
    """
    loaded = load_runs([run], checkpoint=checkpoint, device="cpu", overrides=overrides)
    pieces = SourceCutter(loaded.subword.source, loaded.normalizer, loaded.max_length - 1).cut([text], 1)
    if not pieces:
        raise InputError("the text is empty, and there is nothing to look at; give an English sentence")
    source = [*pieces[0].ids, EOS]
    best = TorchSearcher(loaded.models, loaded.device).find([pieces[0].ids], loaded.search)[0][0]
    labels = [*best.tokens, *([EOS] if best.finished else [])]
    target_input = [SOS, *labels[:-1]]
    found = loaded.models[0].attention(torch.tensor([source]), torch.tensor([target_input]))
    weights = {"cross": found.cross, "encoder": found.encoder, "decoder": found.decoder}[kind]
    english = loaded.subword.source.pieces_of(source)
    produced, there = (loaded.subword.target.pieces_of(ids) for ids in (labels, target_input))
    looking = {"cross": produced, "encoder": english, "decoder": there}[kind]
    looked_at = {"cross": english, "encoder": english, "decoder": there}[kind]
    stacked = torch.stack(weights)[:, 0].float().numpy()  # (layers, H, T, S)
    return SentenceAttention(kind, looking, looked_at, stacked)

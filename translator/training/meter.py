"""Sums over the steps between two reports, kept on the device until somebody reads them."""

import math
import time

import torch

from translator.training.step import StepResult


class Meter:
    """Adds up step results and turns them into the numbers of a report."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._clear()

    def _clear(self) -> None:
        self._loss = torch.zeros((), dtype=torch.float64, device=self._device)
        self._norm = torch.zeros((), dtype=torch.float64, device=self._device)
        self._steps = self._target_tokens = self._source_tokens = self._positions = 0
        self._began = time.monotonic()

    def restart(self) -> None:
        """Leave the time since the last report out of the next one's rates: it was not spent on training steps."""
        self._began = time.monotonic()

    def add(self, result: StepResult) -> None:
        """Take in one step, without waiting for the device."""
        self._loss += result.negative_log_likelihood
        self._norm += result.gradient_norm
        self._steps += 1
        self._target_tokens += result.target_tokens
        self._source_tokens += result.source_tokens
        self._positions += result.positions

    def read(self) -> dict[str, float]:
        """Return the numbers since the last call, and begin anew.

        `loss` is the mean negative log-likelihood of a target token in nats, `gradient_norm` the mean over steps,
        `tokens_per_second` counts real target tokens, `padding` is a share of all positions.
        """
        loss = self._loss.item() / max(1, self._target_tokens)  # .item() waits for the device, so the time is right
        norm = self._norm.item() / max(1, self._steps)
        seconds = max(1e-9, time.monotonic() - self._began)
        numbers = {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),
            "gradient_norm": norm,
            "tokens_per_second": self._target_tokens / seconds,
            "padding": 1.0 - (self._target_tokens + self._source_tokens) / max(1, self._positions),
        }
        self._clear()
        return numbers

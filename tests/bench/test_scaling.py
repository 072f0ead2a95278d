"""What the simulation of many processes rests on: the cost of a batch, and ways to share a step that lose no row."""

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bench.rank_loads import SHARINGS, LengthPairs, Sizes, loads, own_streams, plan, shares_of
from translator.config import ModelConfig
from translator.model import Transformer


def drawn_pairs(count: int) -> LengthPairs:
    chance = np.random.default_rng(1)
    source = chance.integers(2, 60, size=count).astype(np.int32)
    target = np.clip(source + chance.integers(-8, 9, size=count), 2, 64).astype(np.int32)
    return LengthPairs(source, target)


def test_the_operations_are_those_that_torch_counts() -> None:
    sizes = Sizes(d_model=32, feed_forward=48, encoder_layers=2, decoder_layers=3, vocabulary=50)
    settings = ModelConfig(
        d_model=32, heads=4, feed_forward=48, encoder_layers=2, decoder_layers=3, dropout=0.0, max_positions=32
    )
    model = Transformer(settings, 50, 50).eval()
    source, target = torch.randint(4, 50, (5, 11)), torch.randint(4, 50, (5, 7))
    # The fused kernel of a CPU is not counted.
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        model(source, target)
    assert 3 * counter.get_total_flops() == sizes.operations(5, 11, 7)


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize(("world", "accumulation"), [(2, 2), (4, 8), (3, 3)])
def test_every_way_of_sharing_computes_every_row_once(sharing: str, world: int, accumulation: int) -> None:
    pairs = drawn_pairs(2000)
    batches = own_streams(pairs, 500, world) if sharing == "own streams" else plan(pairs, 500)
    step = batches[:accumulation]
    shared = [rows.numbers for share in shares_of(step, world, sharing, Sizes()) for rows in share]
    expected = np.concatenate([rows.numbers for rows in step])
    assert sorted(np.concatenate(shared)) == sorted(expected)


def test_equal_pairs_leave_nobody_waiting_and_one_rank_has_nobody_to_wait_for() -> None:
    equal = LengthPairs(np.full(4000, 10, np.int32), np.full(4000, 10, np.int32))
    assert loads(plan(equal, 200), 4, 8, "as built", Sizes(), 5).waiting == pytest.approx(0)
    assert loads(plan(drawn_pairs(2000), 500), 1, 4, "as built", Sizes(), 5).waiting == pytest.approx(0)


def test_uneven_batches_cost_waiting_and_a_line_costs_less() -> None:
    batches = plan(drawn_pairs(8000), 1000)
    turns, built = (loads(batches, 8, 8, way, Sizes(), 20) for way in ("in turn", "as built"))
    assert 0 < built.waiting < turns.waiting / 2
    assert turns.bad_step >= turns.waiting
    assert turns.pieces == 1 < built.pieces < 2


def test_resampled_pairs_keep_their_two_lengths_together() -> None:
    pairs = LengthPairs(np.arange(2, 50, dtype=np.int32), np.arange(102, 150, dtype=np.int32))
    more = pairs.resampled(500, seed=3)
    assert len(more) == 500
    assert (more.target_lengths - more.source_lengths == 100).all()

"""Reference decoder systems, built from our own modules and tested against their specifications.

R1, R2, R3 and R5 are here; R4, a checklist, is in test_reference_checklist.py.
"""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.support.small_model import SMALL
from translator.config import Config, parse_config
from translator.core import SOS
from translator.core.attention import MultiHeadAttention
from translator.core.layers import NetworkSettings
from translator.core.loss import label_smoothed_loss, log_probabilities
from translator.core.masks import MaskGenerator, Masks
from translator.core.positions import PositionEncoding
from translator.core.transformer import (
    DecoderStack,
    Transformer,
    init_weights,
)
from translator.data import DataHandler, DataPosition
from translator.inference.engines.torch_searcher import recording


def stack_of(settings: NetworkSettings) -> DecoderStack:
    torch.manual_seed(1)
    stack = DecoderStack(settings)
    init_weights(stack)
    return stack


OPEN = torch.ones(1, 1, 1, 1, dtype=torch.bool)  # a mask that hides nothing


def states_of(
    stack: DecoderStack,
    x: Tensor,
    memory: Tensor,
    decoder_mask: Tensor = OPEN,
    cross_mask: Tensor = OPEN,
) -> Tensor:
    """The states of `x`, one sentence per row."""
    position = torch.arange(x.size(1)).expand(x.shape[:2])
    masks = Masks(encoder=OPEN, decoder=decoder_mask, cross=cross_mask)
    states: Tensor = stack(x, position, memory, masks)
    return states


def paper_settings(layers: int, max_positions: int = 1024) -> NetworkSettings:
    """The sizes of Transformer-base, post-norm, with so many layers in each stack."""
    return NetworkSettings(
        d_model=512,
        heads=8,
        encoder_layers=layers,
        decoder_layers=layers,
        feed_forward=2048,
        dropout=0.1,
        norm="post",
        max_positions=max_positions,
    )


@pytest.fixture(scope="module")
def r1() -> DecoderStack:
    return stack_of(paper_settings(layers=8))


@pytest.fixture(scope="module")
def r2() -> DecoderStack:
    return stack_of(paper_settings(layers=5)).eval()


class TestR1:
    """Eight decoder blocks (d_model 512, 8 heads, FFN 2048, ReLU, post-norm), a look-ahead mask, a random memory."""

    @torch.no_grad()
    def run(self, stack: DecoderStack, x: Tensor, memory: Tensor) -> Tensor:
        encoding = PositionEncoding(512, 5000, "sinusoidal")
        x = encoding(x, torch.arange(x.size(1)).expand(x.shape[:2]))
        return states_of(stack, x, memory, MaskGenerator.causal(x.size(1)))

    def test_later_tokens_change_nothing_before_them(self, r1: DecoderStack) -> None:
        x = torch.randn(1, 3, 512)
        memory = torch.randn(1, 3, 512)
        before = self.run(r1.eval(), x, memory)
        for t in (1, 2):
            changed_x = x.clone()
            changed_x[:, t:] = torch.randn(1, 3 - t, 512)
            after = self.run(r1, changed_x, memory)
            assert torch.equal(after[:, :t], before[:, :t])
            assert not torch.allclose(after[:, t:], before[:, t:])
        assert before.shape == (1, 3, 512)
        assert len(r1.layers) == 8

    def test_one_fused_linear_serves_all_heads_and_each_attention_has_its_own_output(self, r1: DecoderStack) -> None:
        layer = r1.layers[0]
        linear_parts = [part for part in layer.self_attention.modules() if isinstance(part, nn.Linear)]
        assert len(linear_parts) == 2, "one for queries, keys and values, one for the output"
        assert layer.self_attention.output.weight.data_ptr() != layer.cross_attention.output.weight.data_ptr()


class TestR2:
    """Five decoder layers (d_model 512, 8 heads, FFN 2048, dropout 0.1), batch 30, length 200, fused projections."""

    @torch.no_grad()
    @pytest.mark.parametrize(("batch", "length"), [(30, 20), (3, 200)])  # both at once take seconds
    def test_output_has_the_shape_of_the_input(self, r2: DecoderStack, batch: int, length: int) -> None:
        x, memory = torch.randn(batch, length, 512), torch.randn(batch, length, 512)
        out = states_of(r2, x, memory, MaskGenerator.causal(length))
        assert out.shape == x.shape
        assert out.isfinite().all()

    @torch.no_grad()
    def test_merging_heads_does_not_mix_positions(self, r2: DecoderStack) -> None:
        # Each position attends to itself alone, so its state may depend on its own input alone.
        only_itself = torch.eye(6, dtype=torch.bool)[None, None]
        x = torch.randn(1, 6, 512)
        memory = torch.randn(1, 4, 512)
        changed_x = x.clone()
        changed_x[:, 3] = torch.randn(512)
        before = states_of(r2, x, memory, only_itself)
        after = states_of(r2, changed_x, memory, only_itself)
        unchanged_positions = [0, 1, 2, 4, 5]
        torch.testing.assert_close(after[:, unchanged_positions], before[:, unchanged_positions])
        assert not torch.allclose(after[:, 3], before[:, 3])

    @torch.no_grad()
    def test_a_padding_mask_hides_what_could_be_cut_off(self, r2: DecoderStack) -> None:
        x, memory = torch.randn(1, 6, 512), torch.randn(1, 4, 512)
        padding = torch.tensor([True, True, True, False]).view(1, 1, 1, 4)
        padded = states_of(r2, x, memory, cross_mask=padding)
        assert not torch.allclose(padded, states_of(r2, x, memory))
        torch.testing.assert_close(padded, states_of(r2, x, memory[:, :3]))


class TestR3:
    """One decoder block on small arrays, with its attention weights."""

    @torch.no_grad()
    def test_each_attention_has_weights_for_every_head_exactly_where_the_mask_is_true(self) -> None:
        stack = stack_of(NetworkSettings(64, 4, 1, 1, feed_forward=128, dropout=0.1, norm="post")).eval()
        weights: list[Tensor] = []
        for module in stack.modules():
            if isinstance(module, MultiHeadAttention):
                module.kernel = recording(weights)

        # The second row of the memory has four positions of padding.
        look_ahead = MaskGenerator.causal(12).expand(2, 1, 12, 12)
        is_token = torch.arange(10) < torch.tensor([[10], [6]])  # (2, 10)
        padding = is_token.view(2, 1, 1, 10).expand(2, 1, 12, 10)
        states_of(stack, torch.randn(2, 12, 64), torch.randn(2, 10, 64), look_ahead, padding)
        self_weights, cross_weights = weights
        assert torch.equal(self_weights > 0, look_ahead.expand(2, 4, 12, 12))
        assert torch.equal(cross_weights > 0, padding.expand(2, 4, 12, 10))


class TestR5:
    """English to Persian on a zip with one text member per language, by characters."""

    english = ("The door is open", "A red book", "We went home", "Birds sing", "The sea is blue", "Come here")
    persian = ("در باز است", "یک کتاب قرمز", "به خانه رفتیم", "پرنده‌ها می‌خوانند", "دریا آبی است", "بیا اینجا")

    @pytest.fixture
    def recipe(self, tmp_path: Path) -> Config:
        lines = []
        for number in range(10):
            for english, persian in zip(self.english, self.persian, strict=True):
                lines.append((f"{english} {number}", f"{persian} {number}"))
        with zipfile.ZipFile(tmp_path / "corpus.zip", "w") as archive:
            archive.writestr("books/english.txt", "".join(f"{english}\n" for english, _ in lines))
            archive.writestr("books/farsi.txt", "".join(f"{persian}\n" for _, persian in lines))
        recipe = f"""
        run: {{directory: {tmp_path}/run}}
        corpus:
          sources: [{{name: toy, path: {tmp_path}/corpus.zip, source_member: books/english.txt,
                      target_member: books/farsi.txt, max_pairs: 40}}]
          split: {{validation: 4, test: 4}}
          prepared_directory: {tmp_path}/prepared
        subword: {{model_type: char, vocabulary_size: 100, case: keep}}
        batching: {{tokens_per_batch: 512, max_length: 256}}
        """
        return parse_config(recipe, "r5")

    def test_zip_members_are_limited_in_pairs_and_split_into_characters(self, recipe: Config) -> None:
        data = DataHandler(recipe)
        pair_counts = {split: data.pair_count(split) for split in ("train", "validation", "test")}
        assert sum(pair_counts.values()) <= 40
        assert pair_counts["train"] >= 20

        target = data.subword.target
        (target_ids,) = target.encode(["پرنده‌ها می‌خوانند"])
        pieces = target.pieces_of(target_ids)
        assert {len(piece) for piece in pieces} == {1}
        assert "\u200c" in pieces, "the half-space (ZWNJ) is treated like any other character"

        source = data.subword.source
        source_ids = source.encode(["The door"])
        assert source.decode_ids(source_ids) == ["The door"], "nothing is lower-cased"

    def test_batches_have_correct_masks_and_training_reduces_the_loss(self, recipe: Config) -> None:
        data = DataHandler(recipe)
        torch.manual_seed(1)
        model = Transformer(replace(SMALL, max_positions=256, norm="post"), 100, 100)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses: list[float] = []  # by token, one for each batch
        for batch, position in data.train_batches(DataPosition(0, 0)):
            # 1. The batch.
            for mask in MaskGenerator()(batch.source_sentence, batch.target_sentence):
                assert mask.shape == (2, 1, 256, 256)
            first_inputs = batch.target_input[:, 0]
            assert (first_inputs[batch.pair_counts > 0] == SOS).all()

            # 2. A training step.
            logits = model.project(model.states(batch)).flatten(0, 1)
            loss = label_smoothed_loss(log_probabilities(logits), batch.labels.flatten(), 0.0).objective
            optimizer.zero_grad()
            torch.autograd.backward(loss / batch.target_tokens)
            optimizer.step()
            losses.append(loss.item() / batch.target_tokens)
            if position.epoch == 12:
                break

        assert sum(losses[-3:]) < 0.7 * sum(losses[:3])

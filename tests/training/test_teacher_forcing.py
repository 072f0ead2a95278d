"""The training loss as one module: sums, sentences, layouts, and two passes for R-Drop."""

import pytest
import torch
import torch.nn.functional as F
from small_model import small_batch, small_model

from translator.special_tokens import PAD
from translator.training.teacher_forcing import TeacherForcing


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_cross_entropy_of_the_models_logits(packed: bool, smoothing: float) -> None:
    source, target_input, labels = small_batch()
    model = small_model(dropout=0.0)
    losses = TeacherForcing(model, smoothing, 0.0, packed)(source, target_input, labels)
    logits = model(source, target_input).flatten(0, 1)
    oracle = F.cross_entropy(logits, labels.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(losses.smoothed, oracle, rtol=1e-5, atol=1e-5)
    plain = F.cross_entropy(logits, labels.flatten(), ignore_index=PAD, reduction="none").view_as(labels)
    torch.testing.assert_close(losses.of_sentences, plain.sum(1).detach(), rtol=1e-5, atol=1e-5)


def gradients(packed: bool, r_drop: float, dropout: float = 0.0) -> dict[str, torch.Tensor]:
    model = small_model(dropout=dropout)
    learner = TeacherForcing(model, 0.1, r_drop, packed)
    torch.autograd.backward(learner(*small_batch()).smoothed)
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("packed", [False, True])
def test_without_dropout_both_passes_agree_and_r_drop_changes_nothing(packed: bool) -> None:
    plain, twice = gradients(packed, 0.0), gradients(packed, 5.0)
    for name, gradient in plain.items():
        torch.testing.assert_close(twice[name], gradient, rtol=1e-4, atol=1e-5, msg=name)


def test_with_dropout_disagreement_costs() -> None:
    source, target_input, labels = small_batch()
    costs = []
    for r_drop in (1e-9, 3.0):
        torch.manual_seed(5)
        learner = TeacherForcing(small_model(dropout=0.3), 0.1, r_drop, packed=True)
        torch.manual_seed(5)
        costs.append(float(learner(source, target_input, labels).smoothed))
    assert costs[1] > costs[0] + 0.01


def test_two_passes_are_for_training_only() -> None:
    batch = small_batch()
    learner = TeacherForcing(small_model(dropout=0.3), 0.1, 5.0, packed=True).eval()
    plain = TeacherForcing(small_model(dropout=0.3), 0.1, 0.0, packed=True).eval()
    torch.testing.assert_close(learner(*batch).smoothed, plain(*batch).smoothed)


def test_before_dropout_begins_one_pass_is_enough() -> None:
    learner = TeacherForcing(small_model(dropout=0.3), 0.1, 5.0, packed=True).train()
    seen = []
    learner.model.source_embedding.register_forward_pre_hook(lambda _, tokens: seen.append(len(tokens[0])))
    batch = small_batch()
    for training in (False, True):
        learner.model.train(training)
        learner(*batch)
    assert seen == [len(batch[0]), 2 * len(batch[0])]


def test_sentence_losses_with_r_drop_are_the_mean_of_both_passes() -> None:
    source, target_input, labels = small_batch()
    packed = TeacherForcing(small_model(dropout=0.0), 0.1, 2.0, packed=True)(source, target_input, labels)
    padded = TeacherForcing(small_model(dropout=0.0), 0.1, 2.0, packed=False)(source, target_input, labels)
    plain = TeacherForcing(small_model(dropout=0.0), 0.1, 0.0, packed=False)(source, target_input, labels)
    torch.testing.assert_close(packed.of_sentences, plain.of_sentences, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(padded.of_sentences, plain.of_sentences, rtol=1e-4, atol=1e-4)

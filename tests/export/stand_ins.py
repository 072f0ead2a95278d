"""Small models to export, one of them trained a little, and text for them."""

import functools
from collections.abc import Sequence
from pathlib import Path

import torch

from translator.config import ModelConfig
from translator.data import collate_source
from translator.model import Transformer
from translator.special_tokens import EOS, PAD, SOS
from translator.subword import SubwordModel, SubwordPair

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
SMALL = ModelConfig(d_model=32, heads=4, encoder_layers=2, decoder_layers=2, feed_forward=64, max_positions=128)
POST = SMALL.model_copy(update={"norm": "post"})


@functools.cache
def sample_pairs(split: str) -> list[tuple[str, str]]:
    """Return the English and Persian of the embedded sample."""
    lines = (SAMPLE / f"{split}.tsv").read_text(encoding="utf-8").splitlines()
    return [(english, persian) for english, persian in (line.split("\t")[:2] for line in lines)]


def sample_rows(subword: SubwordPair, count: int) -> list[list[int]]:
    """Return the source ids of `count` sentences of the sample's test set, none twice."""
    texts = list(dict.fromkeys(english for english, _ in sample_pairs("test")))[:count]
    assert len(texts) == count
    return subword.source.encode(texts)


def stand_in(config: ModelConfig, subword: SubwordPair, seed: int = 1) -> Transformer:
    """Return a model, never trained, in which every weight counts: biases, LayerNorms, and the embedding of PAD."""
    torch.manual_seed(seed)
    model = Transformer(config, subword.source.vocabulary_size, subword.target.vocabulary_size).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        for embedding in (model.source_embedding, model.target_embedding):
            assert bool(embedding.tokens.weight[PAD].abs().sum() > 0), "a row of zeros would hide what PAD does"
    return model


def taught(config: ModelConfig, subword: SubwordPair, steps: int = 200) -> Transformer:
    """Return a model that has seen enough of the sample to tell sentences apart and to end most of its own."""
    torch.manual_seed(1)
    untaught = config.model_copy(update={"dropout": 0.0})
    model = Transformer(untaught, subword.source.vocabulary_size, subword.target.vocabulary_size)
    optimizer = torch.optim.Adam(model.parameters())
    pairs = sorted(sample_pairs("train")[:1200], key=lambda pair: len(pair[0]))
    sources, targets = (side.encode([pair[number] for pair in pairs]) for number, side in enumerate(_sides(subword)))
    starts = (16 * torch.randperm(len(pairs) // 16)).tolist()
    for step in range(steps):
        start = starts[step % len(starts)]
        source, labels = (collate_source(rows[start : start + 16]) for rows in (sources, targets))
        target_input = torch.cat((labels.new_full((len(labels), 1), SOS), labels[:, :-1]), dim=1)
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * min(1.0, (step + 1) / 20)
        logits = model(source, target_input)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert bool(model.target_embedding.tokens.weight[PAD].abs().sum() > 0), "its own head has moved it"
    return model.eval()


def _sides(subword: SubwordPair) -> tuple[SubwordModel, SubwordModel]:
    return subword.source, subword.target


def pieces(subword: SubwordPair, tokens: Sequence[int], finished: bool) -> list[str]:
    """Return target tokens as pieces, with the end where it came."""
    return subword.target.pieces_of([*tokens, *[EOS] * finished])

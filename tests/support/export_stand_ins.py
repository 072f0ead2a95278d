"""Small models to export, one of them trained a little, a run around one, and text for them."""

import functools
from pathlib import Path

import torch

from translator.checkpoint.files import save_checkpoint
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import CheckpointState
from translator.config import ModelConfig, parse_config
from translator.core import PAD, SOS
from translator.core.batch import collate_source
from translator.core.transformer import Transformer
from translator.corpus.normalizer.normalizer import CURRENT_RULES
from translator.run.folder import RunFolder
from translator.subword import SubwordPair

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
SMALL = ModelConfig(d_model=32, heads=4, encoder_layers=2, decoder_layers=2, feed_forward=64, max_positions=128)
POST = SMALL.model_copy(update={"norm": "post"})
RECIPE = """
run: {{directory: "{folder}/run", device: cpu, threads: 1}}
corpus:
  sources:
  - {{name: sample, path: "{sample}/train.tsv", use: train, obtain: "It comes with translator, Apache 2.0."}}
  - {{name: tatoeba, path: "{sample}/test.tsv", use: test}}
  prepared_directory: "{folder}/prepared"
  {rules}
subword: {{vocabulary_size: 420, byte_fallback: true}}
batching: {{max_length: 60}}
model:
  {{d_model: 32, heads: 4, encoder_layers: 2, decoder_layers: 2, feed_forward: 64, max_positions: 128, norm: post}}
search: {{method: beam, beam_size: 3, max_length_ratio: 0.5, avoid_loops: false, processes: 1}}
"""


@functools.cache
def sample_pairs(split: str) -> list[tuple[str, str]]:
    pairs = []
    for line in (SAMPLE / f"{split}.tsv").read_text(encoding="utf-8").splitlines():
        english, persian, *_ = line.split("\t")
        pairs.append((english, persian))
    return pairs


TEXT = sample_pairs("test")[0][0]


def sample_rows(subword: SubwordPair, count: int) -> list[list[int]]:
    """Return the source ids of `count` sentences of the sample's test set, none twice."""
    different_texts = list(dict.fromkeys(english for english, _ in sample_pairs("test")))
    assert len(different_texts) >= count
    return subword.source.encode(different_texts[:count])


def stand_in(config: ModelConfig, subword: SubwordPair, seed: int = 1) -> Transformer:
    """Return a model, never trained, in which every weight counts: biases, LayerNorms, and the embedding of PAD."""
    torch.manual_seed(seed)
    model = Transformer(config.settings, subword.source.vocabulary_size, subword.target.vocabulary_size).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        for embedding in (model.source_embedding, model.target_embedding):
            assert bool(embedding.tokens.weight[PAD].abs().sum() > 0), "a row of zeros would hide what PAD does"
    return model


def taught(config: ModelConfig, subword: SubwordPair) -> Transformer:
    """Return a model that has seen enough of the sample to tell sentences apart, and to end some translations."""
    torch.manual_seed(1)
    model = Transformer(config.settings, subword.source.vocabulary_size, subword.target.vocabulary_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    short_pairs = sorted(sample_pairs("train"), key=lambda pair: len(pair[0]))[: 16 * 30]
    for start in range(0, len(short_pairs), 16):
        pairs = short_pairs[start : start + 16]
        source = collate_source(subword.source.encode([english for english, _ in pairs]))
        labels = collate_source(subword.target.encode([persian for _, persian in pairs]))
        target_input = torch.nn.functional.pad(labels[:, :-1], (1, 0), value=SOS)
        logits = model(source, target_input)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model.eval()


def small_run(folder: Path, subword_folder: Path, step: int = 5, rules: str = "") -> RunFolder:
    """Write a run, never trained, into `folder`/run, or one more checkpoint, the best and last one."""
    config = parse_config(RECIPE.format(folder=folder, sample=SAMPLE, rules=rules), "recipe", ())
    run = RunFolder(Path(config.run.directory))
    run.write(config)
    run.keep_subword(subword_folder, CURRENT_RULES.to_json())
    subword = SubwordPair.load(subword_folder)
    state = CheckpointState(
        step=step,
        model=config.model,
        source_vocabulary=subword.source.vocabulary_size,
        target_vocabulary=subword.target.vocabulary_size,
        subword=subword.sha256,
        normalizer=CURRENT_RULES.sha256,
        normalization=config.corpus.normalization.model_dump(mode="json"),
    )
    model = stand_in(state.model, subword, seed=step)
    save_checkpoint(run.checkpoints_folder, state, model.state_dict(), {})
    mark_best(run.checkpoints_folder, step)
    return run

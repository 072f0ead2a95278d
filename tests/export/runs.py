"""A run of the sample with a small model that was never trained, small enough to export in a moment."""

from pathlib import Path

from export.stand_ins import SAMPLE, sample_pairs, stand_in

from translator.checkpoint import CheckpointState, mark_best, save_checkpoint
from translator.config import Config, ModelConfig, parse_config
from translator.run_folder import RunFolder
from translator.subword import SubwordPair

RECIPE = """
run: {{directory: "{folder}/run", device: cpu, threads: 1}}
corpus:
  sources:
  - {{name: sample, path: "{sample}/train.tsv", use: train, obtain: "It comes with translator, Apache 2.0."}}
  - {{name: tatoeba, path: "{sample}/test.tsv", use: test}}
  prepared_directory: "{folder}/prepared"
subword: {{vocabulary_size: 420, byte_fallback: true}}
batching: {{max_length: 60}}
model:
  {{d_model: 32, heads: 4, encoder_layers: 2, decoder_layers: 2, feed_forward: 64, max_positions: 128, norm: {norm}}}
search: {{method: beam, beam_size: 3, max_length_ratio: 0.5, processes: 1}}
"""


def config_of(folder: Path, norm: str = "post") -> Config:
    return parse_config(RECIPE.format(folder=folder, sample=SAMPLE, norm=norm), "recipe", ())


def small_run(folder: Path, subword_folder: Path, norm: str = "post", step: int = 5) -> RunFolder:
    """Write a run into `folder`/run, or one more checkpoint, the best and last one."""
    config = config_of(folder, norm)
    run = RunFolder(Path(config.run.directory))
    run.write(config)
    run.keep_subword(subword_folder)
    subword = SubwordPair.load(subword_folder)
    state = CheckpointState(
        step=step,
        model=config.model.model_dump(mode="json"),
        source_vocabulary=subword.source.vocabulary_size,
        target_vocabulary=subword.target.vocabulary_size,
        subword=subword.sha256,
        normalization=config.corpus.normalization.model_dump(mode="json"),
    )
    model = stand_in(ModelConfig(**state.model), subword, seed=step)
    save_checkpoint(run.checkpoints_folder, state, model.state_dict(), {})
    mark_best(run.checkpoints_folder, step)
    return run


TEXTS = [english for english, _ in sample_pairs("test")[:6]]

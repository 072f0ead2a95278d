"""Export of a run to a folder for other programs: formats, model card, checksums; atomic."""

import shutil
from pathlib import Path
from typing import Final

import jinja2
import torch

from translator.checkpoint.files import load_model, write_checkpoint
from translator.checkpoint.state import MODEL_FILE, pin_checkpoint, step_folder
from translator.config import Config, ModelConfig, SourceConfig, resolved_yaml
from translator.config.corpus_section import ENGLISH
from translator.corpus.download import DATASETS
from translator.corpus.held_out import left_out_note
from translator.corpus.normalizer import RULES, Normalizer
from translator.errors import InputError, RunError, StorageError
from translator.evaluation.results import saved_scores
from translator.export.marian import marian_obstacles, write_marian_tokenizer, write_marian_weights
from translator.inference.ctranslate2_writer import write_ctranslate2
from translator.inference.exported import CARD_FILE, ExportIndex, is_export, read_index, write_index
from translator.inference.run_subword import load_subword
from translator.model import Transformer
from translator.run.folder import MARK, RunFolder
from translator.run.storage import new_folder, storage_errors, write_text
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE
from translator.subword.placeholders import PLACEHOLDERS

QUANTIZATIONS: Final = {
    "ctranslate2": ("float32", "float16", "bfloat16", "int16", "int8"),
    "marian": ("float32", "float16", "bfloat16"),
    "safetensors": ("float32",),
}
"""The formats, and the supported types of weights; the first is the default."""
FORMATS: Final = tuple(QUANTIZATIONS)


def export_run(
    run_folder: Path | str,
    format: str,
    folder: Path | str,
    *,
    checkpoint: str = "best",
    quantization: str | None = None,
) -> Path:
    """Write the model of a run into `folder`, which is new or empty, and return its path.

    Args:
        run_folder: folder of the run.
        format: `ctranslate2`, `marian` or `safetensors`.
        folder: the destination.
        checkpoint: `best`, `last`, `averaged` or a step number.
        quantization: type of the weights; by default `float32`.

    Raises:
        RunError: the run, its checkpoint or its scores are damaged or missing; or another process writes `folder`.
        InputError: the format does not support this model or type, `folder` is not empty, or a library is missing.
    """
    run, target = RunFolder.open(run_folder), Path(folder).expanduser().resolve()
    if is_export(run.path) and read_index(run.path, verify=False).format == "ctranslate2":
        raise RunError(
            f"{run.path} is an export for CTranslate2 and has no checkpoint to export; give the run folder itself"
        )
    with storage_errors(target, "read"):
        if target.exists() and not target.is_dir():
            raise InputError(f"cannot export to {folder}: it is a file; choose a folder that does not exist yet")
        if target.is_dir() and any(target.iterdir()):
            advice = "existing files are never overwritten; choose another folder, or delete this one first"
            raise InputError(f"cannot export to {folder}: the folder is not empty; {advice}")
    config = run.config()
    chosen, weights = check_format(format, quantization, config.model)  # before the weights are read
    pinned = pin_checkpoint(run.checkpoints_folder, checkpoint)
    model, state = load_model(pinned, torch.device("cpu")), pinned.state
    subword = load_subword(run, state)
    _check_space(target, model)
    index = ExportIndex(chosen, weights, run.path.resolve().name, pinned.identity, state)
    with new_folder(target, replace=False) as beside:
        if chosen == "ctranslate2":
            write_ctranslate2(beside, model, state.model, subword, weights)
        elif chosen == "marian":
            write_marian_weights(beside, model, state.model, config.search, weights)
            write_marian_tokenizer(beside, run.subword_folder, config.batching.max_length, config.corpus.languages)
        else:  # a run folder of one checkpoint
            write_checkpoint(step_folder(beside / "checkpoints", state.step), state, {MODEL_FILE: model.state_dict()})
        if chosen != "marian":
            subword_folder = beside / "subword"
            subword_folder.mkdir()
            for file in run.subword_folder.iterdir():
                shutil.copyfile(file, subword_folder / file.name)  # without its mode: a new file obeys the umask
            precision = {"bfloat16": "bf16", "int8": "int8"}.get(weights, "float32")
            write_text(beside / "config.yaml", _shared_config(config, index.run, precision))
        write_text(beside / CARD_FILE, _model_card(index, config, run))
        write_index(beside, index)
    return target


def check_format(name: str, quantization: str | None, config: ModelConfig) -> tuple[str, str]:
    """Return the format and the type of its weights; raise InputError if it does not support a model of `config`."""
    if name not in FORMATS:
        raise InputError(f"cannot export to `{name}`; choose one of: {', '.join(FORMATS)}")
    types = QUANTIZATIONS[name]
    if quantization is not None and quantization not in types:
        others = [other for other in FORMATS if quantization in QUANTIZATIONS[other]]
        hint = f"; `{quantization}` is a type of: {', '.join(others)}" if others else ""
        raise InputError(f"{name} cannot hold weights as `{quantization}`; choose one of: {', '.join(types)}{hint}")
    if name == "marian" and (obstacles := marian_obstacles(config)):
        advice = "Export it to ctranslate2 or safetensors, or train one with model.norm: post, model.activation: relu "
        advice += "or gelu, model.positions: sinusoidal"
        raise InputError(
            f"the Marian format of Hugging Face does not support this model: {'; '.join(obstacles)}. {advice}"
        )
    return name, quantization or types[0]


def _check_space(target: Path, model: Transformer) -> None:
    """Raise StorageError if the disk lacks space for a copy of the weights in float32."""
    needed = sum(tensor.nbytes for tensor in model.state_dict().values()) + (1 << 20)
    with storage_errors(target):
        disk = shutil.disk_usage(next(parent for parent in target.parents if parent.exists()))
    if disk.total and disk.free < needed:  # a file system in memory without a limit has a total of 0
        sizes = f"it needs about {needed / 1e6:,.1f} MB, and {disk.free / 1e6:,.1f} MB are free on that disk"
        raise StorageError(f"cannot write the export {target}: {sizes}; free some space there, or choose another disk")


def _shared_config(config: Config, name: str, precision: str) -> str:
    """Return config.yaml for publication: paths reduced to their last part, and `name` as the run's directory."""
    values = config.model_dump(mode="json", context=lambda path: Path(path).name or path)
    values["run"]["directory"], values["search"]["precision"] = name, precision
    return f"{MARK}\n{resolved_yaml(Config.model_validate(values))}"


# --- the model card ---


def _model_card(index: ExportIndex, config: Config, run: RunFolder) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("translator"), undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False
    )  # Markdown, not HTML
    environment.filters["cell"] = lambda text: text.replace("|", "\\|").replace("\n", " ")
    environment.filters["left_out_note"] = left_out_note
    rules, search, languages = config.corpus.normalization, config.search, config.corpus.languages
    side = "source" if languages[0] == ENGLISH else "target"  # side of the input language in the normalizer's rules
    switches = rules.model_dump(mode="json")
    usual = {key: field.default for key, field in type(rules).model_fields.items()}
    sources: list[tuple[SourceConfig, str]] = [(source, source.use) for source in config.corpus.sources]
    sources += [(source, "further test set") for source in config.evaluation.test_sources]
    text = environment.get_template("model_card.md.j2").render(
        index=index,
        library={"marian": "transformers", "safetensors": "translator"}.get(index.format, index.format),
        state=index.state,
        model=config.model,
        max_length=config.batching.max_length,
        languages=languages,
        side=side,
        folds_case=config.subword.folds_case and side == "source",
        placeholders=f"U+{ord(PLACEHOLDERS[count - 1]):X}" if (count := config.subword.placeholders) else "",
        subword_files=(JOINT_FILE, JOINT_FILE) if config.subword.joint else (SOURCE_FILE, TARGET_FILE),
        beam=search.beam_size if search.method == "beam" else 1,
        longest=min(512, config.model.max_positions - 1),  # longer input would exceed the positions
        gnmt_penalty=search.length_normalization != "average" and search.method == "beam",
        normalizer_module=Normalizer.__module__,
        changed_rules=", ".join(f"{key}={value!r}" for key, value in rules if value != usual[key]),
        rules=[
            (rule.key, str(switches[rule.key]).lower(), type(rules).model_fields[rule.key].description)
            for rule in RULES
            if any(getattr(rule, side)) and switches[rule.key] == rule.value
        ],
        switches=", ".join(f"{key}: {str(value).lower()}" for key, value in switches.items()),
        sources=[(source.name, use, _origin(source)) for source, use in sources],
        scores=[score for score in saved_scores(run) if score.checkpoint == index.state.name],
    )
    return text + "\n"


def _origin(source: SourceConfig) -> str:
    if source.obtain and source.obtain.strip():
        return " ".join(source.obtain.split())
    if known := DATASETS.get(source.name):
        return f"not stated; a public corpus of this name is {known.title} ({known.licence}, {known.home})"
    return "origin and licence are not stated"

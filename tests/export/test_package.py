"""An export is self-contained, its card states where it comes from, and damage to it is detected."""

import contextlib
import io
import json
import re
import shutil
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.export_stand_ins import small_run
from translator import Translator
from translator.corpus.normalizer.normalizer_file import read_rules, rules_of_run
from translator.errors import CheckpointError, InputError, RunError
from translator.evaluation.metrics import Score
from translator.evaluation.results import add_scores
from translator.export.model_card import licence_warnings
from translator.export.package import FORMATS, export_run
from translator.inference.engines.exported import INDEX_FILE, read_index
from translator.run.folder import RunFolder

FILES = {
    "ctranslate2": {"model.bin", "config.json", "source_vocabulary.json", "target_vocabulary.json", "config.yaml"},
    "marian": {"model.safetensors", "config.json", "source.spm", "target.spm", "vocab.json", "target_vocab.json"},
    "safetensors": {"checkpoints", "config.yaml"},
}
SENTENCE = "The children are at school."


def code_of_card(folder: Path) -> str:
    """Return the program in the model card."""
    card = (folder / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    return str(code)


@pytest.fixture(scope="module")
def exports(subword_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An export in each format, of a run that is gone; to be read only."""
    place = tmp_path_factory.mktemp("exports")
    run = small_run(place, subword_folder)
    folders = {}
    for name in FORMATS:
        (place / name).mkdir()  # exporting into an empty folder is allowed
        folders[name] = export_run(run.path, name, place / name)
    shutil.rmtree(run.path)
    return folders


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_its_files_and_names_its_origin(name: str, exports: dict[str, Path]) -> None:
    names = {entry.name for entry in exports[name].iterdir()}
    assert FILES[name] | {"README.md", "export.json"} <= names
    index = read_index(exports[name])
    assert (index.format, index.quantization, index.run, index.state.step) == (name, "float32", "run", 5)


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_names_no_local_path(name: str, exports: dict[str, Path]) -> None:
    place = str(exports[name].parent)
    for file in exports[name].rglob("*"):
        if file.suffix in (".yaml", ".json", ".md"):
            assert place not in file.read_text(encoding="utf-8"), file


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_has_the_normalizer_of_its_run(name: str, exports: dict[str, Path], shared_run: RunFolder) -> None:
    (rules_file,) = exports[name].rglob("normalizer.json")
    assert read_rules(rules_file) == rules_of_run(shared_run)


@pytest.fixture(scope="module")
def first_words(shared_run: RunFolder) -> str:
    """The beginning of a translation by the run; each program stops an untrained model at a different length."""
    translation = Translator.load(shared_run.path, engine="torch").translate(SENTENCE)
    assert translation != ""
    return translation[:4]


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_self_contained_and_its_card_code_works(
    name: str, exports: dict[str, Path], first_words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = code_of_card(exports[name])
    assert SENTENCE in code
    monkeypatch.chdir(exports[name])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own words
    (line,) = printed.getvalue().splitlines()
    assert line[:4] == first_words


@pytest.mark.parametrize(
    ("name", "quantization", "message"),
    [
        ("marian", None, r"the Marian format .* model\.norm is `pre`"),
        ("onnx", None, r"cannot export to `onnx`; choose one of: ctranslate2, marian, safetensors"),
        ("marian", "int8", r"marian cannot hold weights as `int8`; choose one of: float32, float16, bfloat16"),
    ],
)
def test_an_impossible_format_is_refused_before_anything_is_written(
    name: str, quantization: str | None, message: str, subword_folder: Path, tmp_path: Path
) -> None:
    run = small_run(tmp_path, subword_folder, norm="pre")
    with pytest.raises(InputError, match=message):
        export_run(run.path, name, tmp_path / "out", quantization=quantization)
    assert not (tmp_path / "out").exists()


def test_a_missing_checkpoint_is_refused_before_anything_is_written(shared_run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint `7`"):
        export_run(shared_run.path, "safetensors", tmp_path / "out", checkpoint="7")
    assert not (tmp_path / "out").exists()


def test_an_export_is_not_exported_again(exports: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="ctranslate2 is an export for CTranslate2 and has no checkpoint to export"):
        export_run(exports["ctranslate2"], "safetensors", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.fixture
def export(exports: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the export for CTranslate2."""
    return shutil.copytree(exports["ctranslate2"], tmp_path / "out")


def test_damage_to_any_file_except_the_card_is_detected(export: Path) -> None:
    files = [path for path in export.rglob("*") if path.is_file() and path.name not in ("README.md", INDEX_FILE)]
    assert len(files) == 8
    for file in files:
        content = file.read_bytes()

        # A bit in the middle is flipped.
        damaged = bytearray(content)
        damaged[len(damaged) // 2] ^= 1
        file.write_bytes(damaged)
        with pytest.raises(RunError, match=rf"damaged export: .*{file.name} does not match .* export the run"):
            read_index(export)
        # The file is lost.
        file.unlink()
        with pytest.raises(RunError, match=rf"damaged export: .*{file.name} is missing"):
            read_index(export)

        file.write_bytes(content)
    assert read_index(export).quantization == "float32", "all is as it was"


def test_the_card_of_an_export_may_be_edited(export: Path) -> None:
    (export / "README.md").write_text("my own words", encoding="utf-8")
    assert read_index(export).quantization == "float32"


def edited(export: Path, **values: Any) -> bytes:
    """Return the index of an export with other values, under its old checksum."""
    return json.dumps(json.loads((export / INDEX_FILE).read_bytes()) | values).encode()


@pytest.mark.parametrize(
    "damage",
    [lambda export: b"", lambda export: b"[" * 100_000, lambda export: b"\xff", partial(edited, quantization="int8")],
    ids=["empty", "deep", "binary", "edited"],
)
def test_a_changed_index_is_reported_as_damage(damage: Callable[[Path], bytes], export: Path) -> None:
    (export / INDEX_FILE).write_bytes(damage(export))
    with pytest.raises(RunError, match=r"damaged export: .*export\.json is damaged"):
        read_index(export)


def card_of(run: RunFolder, folder: Path) -> str:
    return (export_run(run.path, "safetensors", folder) / "README.md").read_text(encoding="utf-8")


def bleu_score(value: float, checkpoint: str) -> Score:
    return Score(
        test_set="tatoeba",
        metric="bleu",
        signature="nrefs:1|tok:13a",
        sentences=7,
        normalization="raw",
        search="beam-5",
        left_out=(3, 9),
        score=value,
        checkpoint=checkpoint,
        interval=(value - 1.0, value + 1.0),
    )


@pytest.fixture(scope="module")
def card(subword_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The card of a run with rules of its own, whose exported checkpoint and another one were evaluated."""
    folder = tmp_path_factory.mktemp("card")
    run = small_run(folder, subword_folder, rules="normalization: {mojibake: false, digits: ascii}")
    add_scores(run.evaluation_folder, [bleu_score(12.34, "step-000005"), bleu_score(98.76, "step-000001")])
    return card_of(run, folder / "out")


@pytest.mark.parametrize(
    "words",
    [
        "| sample | train | not stated | It comes with translator, Apache 2.0. |",
        "| tatoeba | test | not stated | not stated; a public corpus of this name is Tatoeba",
        "CC BY 2.0 FR",
        "| tatoeba | 7, 2 of 9 left out (lines 3, 9) | bleu |",
        "12.34 (11.34–13.34)",
        r"`nrefs:1\|tok:13a`",
        "subword/normalizer.json",
        "digits: ascii",
        "up to 60 tokens",
        "NormalizationConfig(mojibake=False, digits='ascii')",
    ],
)
def test_card_states_data_licence_scores_and_normalization_rules(words: str, card: str) -> None:
    assert words in card


def test_the_card_begins_with_metadata_for_the_hub(card: str) -> None:
    metadata = yaml.safe_load(card.split("---\n")[1])
    assert metadata["license"] == "other"
    assert metadata["datasets"] == ["sample", "tatoeba"]
    (model,) = metadata["model-index"]
    (result,) = model["results"]
    assert result["dataset"]["name"] == "tatoeba"
    assert result["metrics"] == [{"type": "bleu", "value": 12.34}]


@pytest.mark.parametrize(
    ("licence", "warning"),
    [
        (None, "the licence of `sample` is not stated (corpus.sources.licence)"),
        ("CC BY-NC 4.0", "the licence of `sample` forbids commercial use: CC BY-NC 4.0"),
        ("CC-BY-4.0", None),
    ],
)
def test_an_export_warns_of_a_licence_that_is_missing_or_not_commercial(
    run: RunFolder, licence: str | None, warning: str | None
) -> None:
    config = run.config()
    (source, *_) = config.corpus.sources
    source = source.model_copy(update={"licence": licence, "use": "train"})
    corpus = config.corpus.model_copy(update={"sources": (source,)})
    assert licence_warnings(config.model_copy(update={"corpus": corpus})) == ([warning] if warning else [])


def test_card_states_no_score_of_other_weights(card: str) -> None:
    assert "98.76" not in card


def test_card_of_a_run_that_was_not_evaluated_says_so(run: RunFolder, tmp_path: Path) -> None:
    card = card_of(run, tmp_path / "bare")
    assert "Checkpoint step-000005 was not evaluated before it was exported." in card


def test_code_of_the_card_makes_the_normalizer_of_the_model(
    subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(tmp_path, subword_folder, rules="normalization: {digits: ascii}")
    folder = tmp_path / "out"
    card = card_of(run, folder)
    (code,) = re.findall(r"^(    from pathlib .*?normalize = .*?)$", card, flags=re.DOTALL | re.MULTILINE)

    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile(textwrap.dedent(code), "README.md", "exec"), names)  # noqa: S102 - our own words
    assert names["normalize"]("“yes” .") == '"yes".'

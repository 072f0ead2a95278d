"""What a place is that holds no run: one message for every verb, and no file of it is opened, least of all a pickle."""

from pathlib import Path
from typing import Final

from translator.storage import storage_errors

PICKLES: Final = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle", ".joblib")
"""Names under which pickled weights go; loading one runs whatever code is in it."""
_WANTED: Final = "name a run folder of translator"


def why_no_run(place: Path, config_name: str) -> str:
    """Return a message that says what `place` seems to be, and what to name instead.

    Args:
        place: what was named as a run folder, without a file `config_name` inside.
        config_name: the file by which a run is known.

    Raises:
        StorageError: it cannot be looked into.
    """
    with storage_errors(place, "read"):
        if place.is_file():
            pickled = place.suffix.lower() in PICKLES
            why = "named like a pickle, which is never loaded since it can run any code" if pickled else "a single file"
            return f"{place} is {why}; {_WANTED}"
        if not place.is_dir():
            return f"no run at {place}: there is no such folder; {_runs_beside(place, config_name)}"
        entries = sorted(place.iterdir())
        names = {entry.name for entry in entries if entry.is_file()}
    if not entries:
        return f"no run at {place}: the folder is empty; {_runs_beside(place, config_name)}"
    if any(entry.name == config_name for entry in entries):
        return f"no run at {place}: its {config_name} is no file; restore it from a copy, or {_WANTED}"
    what = _recognised(names)
    if what:
        return f"{place} is no run, but {what}; {_WANTED}"
    return f"no run at {place} (it has no {config_name}); {_runs_beside(place, config_name)}"


def _recognised(names: set[str]) -> str:
    """Return what a folder with files of these names seems to be; empty where nobody can say."""
    pickles = sorted(name for name in names if Path(name).suffix.lower() in PICKLES)
    if "export.json" in names and "source.spm" in names:
        return "an export for Hugging Face, which `transformers` loads (see its README.md)"
    if "export.json" in names:
        return "a damaged export, without its settings: copy it again, or export the run again"
    if "model.bin" in names and any(name.endswith(("vocabulary.json", "vocabulary.txt")) for name in names):
        return (
            "a CTranslate2 model from elsewhere, without the configuration and subword models that it was trained with"
        )
    if "config.json" in names and names & {"tokenizer_config.json", "model.safetensors", "pytorch_model.bin"}:
        return "a Hugging Face model from elsewhere, which `transformers` loads"
    if pickles:
        return f"holds what is named like pickles ({', '.join(pickles[:3])}), never loaded since they can run any code"
    if "model.safetensors" in names:
        return "holds weights alone (model.safetensors), without a configuration"
    return ""


def _runs_beside(place: Path, config_name: str) -> str:
    """Return which runs stand beside `place`, or how to get one."""
    runs = sorted(str(file.parent) for file in place.parent.glob(f"*/{config_name}") if file.is_file())
    return (
        f"runs there: {', '.join(runs)}" if runs else "train one first: make train, or translator train --config sample"
    )

"""Recognises what is no folder of ours, so that one message says what it is; a pickle is never opened."""

from pathlib import Path
from typing import Final

from translator.errors import RunError
from translator.export.index import is_export
from translator.run_folder import RunFolder
from translator.storage import storage_errors

_PICKLES: Final = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle", ".joblib")
"""Names under which pickled weights go; loading one runs whatever code is in it."""


def refuse_foreign(folder: Path) -> None:
    """Raise RunError where `folder` is a model of another program; what is nothing at all is left to others to refuse.

    Raises:
        RunError: it is one, or a single file.
        StorageError: it cannot be looked into.
    """
    with storage_errors(folder, "read"):
        if folder.is_file():
            pickled = folder.suffix in _PICKLES
            why = "named like a pickle, which is never loaded since it can run any code" if pickled else "a single file"
            raise RunError(f"{folder} is {why}; {_WANTED}")
        if not folder.is_dir() or is_export(folder) or RunFolder(folder).config_file.is_file():
            return
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
    what = _recognised(names)
    if what:
        raise RunError(f"{folder} is no run and no export of translator, but {what}; {_WANTED}")


_WANTED: Final = "give a run folder of translator, or one made by `translator export`"


def _recognised(names: list[str]) -> str:
    """Return what a folder with files of these names seems to be; empty where nobody can say."""
    pickles = [name for name in names if Path(name).suffix in _PICKLES]
    if "model.bin" in names and any(name.endswith(("vocabulary.json", "vocabulary.txt")) for name in names):
        return (
            "a CTranslate2 model from elsewhere, without the configuration and subword models that it was trained with"
        )
    if "config.json" in names and ("tokenizer_config.json" in names or "model.safetensors" in names):
        return "a Hugging Face model from elsewhere, which `transformers` loads"
    if pickles:
        return f"holds what is named like pickles ({', '.join(pickles[:3])}), never loaded since they can run any code"
    if "model.safetensors" in names:
        return "holds weights alone (model.safetensors), without a configuration"
    return ""

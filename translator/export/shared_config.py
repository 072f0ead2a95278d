"""The configuration of a run as others may see it: all that a model needs, and no path of the machine it comes from."""

from pathlib import Path
from typing import Any

from translator.config import Config, resolved_yaml
from translator.run_folder import MARK

_PATHS = ("directory", "prepared_directory", "initialize_from", "path", "comet_model")


def shared_config(config: Config, name: str, precision: str) -> str:
    """Return the text of config.yaml for an exported folder: `config` with paths cut down to their last part.

    Args:
        config: of the run.
        name: of the run, in place of its directory.
        precision: becomes `search.precision`.
    """
    values = _without_folders(config.model_dump(mode="json"))
    values["run"]["directory"] = name
    values["search"]["precision"] = precision
    return f"{MARK}\n{resolved_yaml(Config.model_validate(values))}"


def _without_folders(value: Any, key: str = "") -> Any:
    """Return `value` with each path that stands under a key of paths cut down to its last part."""
    if isinstance(value, dict):
        return {inner: _without_folders(item, inner) for inner, item in value.items()}
    if isinstance(value, list):
        return [_without_folders(item, key) for item in value]
    if isinstance(value, str) and (key in _PATHS or key.endswith(("_path", "_paths"))):
        return Path(value).name or value
    return value

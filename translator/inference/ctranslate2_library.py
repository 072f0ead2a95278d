"""The library CTranslate2: loading it, the device on which it can compute, and what it lacks there.

Its wheel contains no cuBLAS. On a GPU it opens `libcublas.so.12` at the first matrix product, and torch for CUDA 13
brings only `libcublas.so.13`. Imports no torch, which is slow to start.
"""

import contextlib
import ctypes
import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from translator.config.keys import DEVICE, DEVICE_NAMES
from translator.errors import ConfigError, InputError
from translator.run.installing import install_command
from translator.run.logging import warn_once

_CUBLAS: Final = "libcublas.so.12"
_CUBLAS_PACKAGE: Final = "nvidia-cublas-cu12"
_CUBLAS_FOLDER: Final = "cublas/lib"  # in the folder `nvidia` of the installed package
_OTHER_ENGINE: Final = "--engine torch with the folder of a run"
_MISSING_LIBRARY: Final = re.compile(r"Library (libcublas\S*) is not found or cannot be loaded")  # CTranslate2's words


def require(name: str) -> Any:
    """Return the module `name` of CTranslate2; raise InputError, with the command to install it, if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = name.partition(".")[0]
        command = install_command("ctranslate2>=4.5,<5")
        raise InputError(f"{library} cannot be imported ({error}); install it with: {command}") from error


def choose_ctranslate2_device(name: str, *, must_be_gpu: bool) -> str:
    """Return `cpu` or `cuda:N` for CTranslate2, which may find a GPU that torch cannot use, and the reverse.

    Args:
        name: a value of `run.device`; `auto` is the first GPU, or the CPU.
        must_be_gpu: whether a GPU that `name` demands must be there; otherwise the CPU replaces it.

    Raises ConfigError: `name` is no device, or CTranslate2 cannot compute on the demanded GPU.
    """
    if re.fullmatch(DEVICE, name) is None:
        raise ConfigError(f"the device is {DEVICE_NAMES}, not `{name}`")
    if name == "cpu":
        return "cpu"
    number = int(name.partition(":")[2] or 0)
    gpus = 0 if name == "mps" else require("ctranslate2").get_cuda_device_count()
    if number < gpus and _loads_cublas():
        return f"cuda:{number}"

    # There is no such GPU, or CTranslate2 cannot compute on it.
    if number < gpus:
        problem = _lacks(_CUBLAS)
    elif gpus > 0:
        problem = f"ctranslate2 finds only {gpus} CUDA GPUs (from 0) here"
    else:
        problem = "ctranslate2 finds no CUDA GPU here"
    if must_be_gpu and name != "auto":
        raise ConfigError(f"the device is `{name}`, but {problem}; or use the CPU, or {_OTHER_ENGINE}")
    if number < gpus:
        warn_once(f"ctranslate2 translates on the CPU: {problem}")
    return "cpu"


def _loads_cublas() -> bool:
    """Load cuBLAS for CUDA 12, from the system or from its package, and return whether that worked.

    CTranslate2 then finds it, because Linux does not open a library of the same name twice.
    """
    candidates = [_CUBLAS]
    package = importlib.util.find_spec("nvidia")
    if package is not None:
        folders = package.submodule_search_locations or []
        candidates += [str(Path(folder, _CUBLAS_FOLDER, _CUBLAS)) for folder in folders]
    for candidate in candidates:
        with contextlib.suppress(OSError):
            ctypes.CDLL(candidate)
            return True
    return False


def _lacks(library: str) -> str:
    """Return the clause that says which library is missing on a GPU, and the command that installs it."""
    command = install_command(_CUBLAS_PACKAGE)
    return f"on a GPU ctranslate2 needs {library}, which cannot be loaded; install it with: {command}"


@contextlib.contextmanager
def library_errors() -> Iterator[None]:
    """Convert CTranslate2's error about a missing library to ConfigError; also usable as a decorator."""
    try:
        yield
    except RuntimeError as error:
        library = _MISSING_LIBRARY.search(str(error))
        if library is None:
            raise
        raise ConfigError(f"{_lacks(library[1])}; or use run.device=cpu, or {_OTHER_ENGINE}") from error

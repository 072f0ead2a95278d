"""The library CTranslate2: loading it, the device on which it can compute, and why it fails there.

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
from translator.errors import ConfigError, InputError, RunError
from translator.run.logging import warn_once
from translator.run.text import install_command

_CUBLAS: Final = "libcublas.so.12"
_CUBLAS_PACKAGE: Final = "nvidia-cublas-cu12"
_CUBLAS_FOLDER: Final = "cublas/lib"  # in the folder `nvidia` of the installed package
_OTHER_WAYS: Final = "the CPU (--device cpu), or --engine torch with the folder of a run"
# CTranslate2's words. All its errors are RuntimeErrors; only the text tells them apart.
_MISSING_LIBRARY: Final = re.compile(r"Library (libcublas\S*) is not found or cannot be loaded")
_GPU_ERROR: Final = re.compile(r"CUDA failed with error |cuBLAS failed with status ")
_NO_GPU_MEMORY: Final = re.compile(r"with error out of memory|CUBLAS_STATUS_ALLOC_FAILED")


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
    is_demanded = must_be_gpu and name != "auto"
    number = int(name.partition(":")[2] or 0)
    gpus = 0 if name == "mps" else require("ctranslate2").get_cuda_device_count()

    # 1. There is no such GPU.
    if number >= gpus:
        if is_demanded:
            visible = f"only {gpus} CUDA GPUs (from 0)" if gpus > 0 else "no CUDA GPU"
            raise ConfigError(f"the device is `{name}`, but ctranslate2 finds {visible} here; use {_OTHER_WAYS}")
        return "cpu"

    # 2. There is one, on which CTranslate2 computes with cuBLAS.
    if _loads_cublas():
        return f"cuda:{number}"
    problem = _lacks(_CUBLAS)
    if is_demanded:
        raise ConfigError(f"the device is `{name}`, but {problem}; or use {_OTHER_WAYS}")
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


def is_gpu_error(error: RuntimeError) -> bool:
    """Return whether CTranslate2 reports with `error` that CUDA or cuBLAS failed."""
    return _GPU_ERROR.search(str(error)) is not None


@contextlib.contextmanager
def library_errors() -> Iterator[None]:
    """Convert CTranslate2's errors about a GPU; also usable as a decorator.

    Raises:
        ConfigError: a library is missing, or CTranslate2 cannot compute on this GPU or with this driver.
        RunError: memory of the GPU ran out.
    """
    try:
        yield
    except RuntimeError as error:
        library = _MISSING_LIBRARY.search(str(error))
        if library is not None:
            raise ConfigError(f"{_lacks(library[1])}; or use {_OTHER_WAYS}") from error
        if not is_gpu_error(error):
            raise
        if _NO_GPU_MEMORY.search(str(error)) is not None:
            raise RunError(
                f"memory of the GPU ran out ({error}); stop other programs that use this GPU, lower search.batch_size "
                "or search.beam_size, or translate on the CPU (--device cpu)"
            ) from error
        raise ConfigError(f"ctranslate2 cannot compute on this GPU ({error}); use {_OTHER_WAYS}") from error

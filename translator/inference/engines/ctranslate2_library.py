"""The library CTranslate2: loading it, the device and the precision in which it computes, its errors on a GPU.

Its wheel contains no cuBLAS. On a GPU it opens `libcublas.so.12` at the first matrix product, and torch for CUDA 13
brings only `libcublas.so.13`. Imports no torch, which is slow to start.
"""

import contextlib
import ctypes
import importlib
import importlib.util
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from translator.config.keys import DEVICE, DEVICE_NAMES
from translator.errors import ConfigError, InputError
from translator.run.logging import warn_once
from translator.run.text import install_command

_CUBLAS: Final = "libcublas.so.12"
_CUBLAS_FOLDER: Final = "cublas/lib"  # in the folder `nvidia` of the installed package
# CTranslate2's words. All its errors are RuntimeErrors; only the text tells them apart.
_GPU_ERROR: Final = re.compile(r"CUDA failed with error |cuBLAS failed with status |Library libcublas\S* is not found")
_REMEDY: Final = (
    "it needs free memory there, a recent driver and nvidia-cublas-cu12; install that, or use the CPU (--device cpu), "
    "or --engine torch"
)


def require(name: str) -> Any:
    """Return the module `name` of CTranslate2; raise InputError, with the command to install it, if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = name.partition(".")[0]
        command = install_command("ctranslate2>=4.5,<5")
        raise InputError(f"{library} cannot be imported ({error}); install it with: {command}") from error


def choose_ctranslate2_device(name: str, *, must_exist: bool) -> str:
    """Return `cpu` or `cuda:N` for CTranslate2, which may find a GPU that torch cannot use, and the reverse.

    Args:
        name: a value of `run.device`; `auto` is the first GPU, or the CPU.
        must_exist: whether a GPU that `name` demands must be there; otherwise the CPU replaces it.

    Raises ConfigError: `name` is no device, or CTranslate2 cannot compute on the demanded GPU.
    """
    if re.fullmatch(DEVICE, name) is None:
        raise ConfigError(f"the device is {DEVICE_NAMES}, not `{name}`")
    if name == "cpu":
        return "cpu"
    number = int(name.partition(":")[2] or 0)
    # CTranslate2 supports no Apple GPU, which `mps` is.
    gpu_count = 0 if name == "mps" else require("ctranslate2").get_cuda_device_count()
    gpu_exists = number < gpu_count
    if gpu_exists and _loads_cublas():
        return f"cuda:{number}"
    problem = f"ctranslate2 cannot use the device `{name}` here, where it finds {gpu_count} CUDA GPUs; {_REMEDY}"
    if must_exist and name != "auto":
        raise ConfigError(problem)
    # A machine without a GPU translates on the CPU anyway. Only a GPU that exists, but stays idle, is worth a warning.
    if gpu_exists:
        warn_once(f"ctranslate2 translates on the CPU: {problem}")
    return "cpu"


def fastest_precision(device: str) -> Literal["float32", "int8"]:
    """Return `search.precision: auto` for `device`: int8 on an x86 CPU, where it was measured to gain, else float32."""
    # 1.4 times as fast with AVX2 and with VNNI; docs/results.md also has the losses. No other processor was measured.
    measured = device == "cpu" and platform.machine().lower() in ("x86_64", "amd64")
    if measured and "int8" in require("ctranslate2").get_supported_compute_types("cpu"):
        return "int8"
    return "float32"


def _loads_cublas() -> bool:
    """Load cuBLAS for CUDA 12, from the system or from its package, and return whether that worked.

    CTranslate2 then finds it, because Linux does not open a library of the same name twice.
    """
    candidates = [_CUBLAS]
    package = importlib.util.find_spec("nvidia")  # a namespace package, whose parts may lie in several folders
    if package is not None:
        folders = package.submodule_search_locations or []
        candidates += [str(Path(folder, _CUBLAS_FOLDER, _CUBLAS)) for folder in folders]
    for candidate in candidates:
        with contextlib.suppress(OSError):
            ctypes.CDLL(candidate)
            return True
    return False


@contextlib.contextmanager
def library_errors() -> Iterator[None]:
    """Turn CTranslate2's errors about a GPU into a ConfigError; also usable as a decorator."""
    try:
        yield
    except RuntimeError as error:
        if _GPU_ERROR.search(str(error)) is None:
            raise
        raise ConfigError(f"ctranslate2 cannot compute on this GPU ({error}); {_REMEDY}") from error

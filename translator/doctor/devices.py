"""What can compute: GPUs, the CPU with its bf16, and how fast their matrix products are."""

import os
from pathlib import Path
from typing import Final

import torch

from translator.device import bf16_pays, choose_rounding, has_bf16
from translator.doctor.control_groups import cpu_limit
from translator.doctor.finding import Finding
from translator.matrix_rate import bf16_is_right, matrix_rate
from translator.workers import available_cores

_GIB: Final = 1 << 30
_DRIVER: Final = Path("/proc/driver/nvidia/version")
_CPU: Final = torch.device("cpu")


def examine_devices() -> list[Finding]:
    """Return what is found of every device, with measured rates of matrix products."""
    findings = [*_gpus(), _apple(), _processor(), _bf16(_CPU, "CPU bf16"), _rate(), _threads()]
    return [finding for finding in findings if finding is not None]


def _gpus() -> list[Finding]:
    count = torch.cuda.device_count()
    if count == 0:
        if _DRIVER.exists():
            built = torch.version.cuda
            why = "this torch is built without CUDA" if built is None else f"this torch wants CUDA {built}"
            advice = f"there is an NVIDIA driver, but {why}; install a torch that fits it (pytorch.org says which)"
            return [Finding("GPU", "none that torch can use", "note", advice)]
        return [Finding("GPU", "none; training runs on the CPU")]
    findings = []
    for number in range(count):
        device = torch.device("cuda", number)
        name = f"GPU {number}"
        try:
            free, total = torch.cuda.mem_get_info(device)
        except RuntimeError as error:
            advice = f"it cannot be used ({str(error).splitlines()[0]}); train with --set run.device=cpu, or free it"
            findings.append(Finding(name, torch.cuda.get_device_name(number), "note", advice))
            continue
        major, minor = torch.cuda.get_device_capability(number)
        found = f"{torch.cuda.get_device_name(number)}, {total / _GIB:.0f} GiB ({free / _GIB:.0f} free), "
        findings += [Finding(name, f"{found}compute capability {major}.{minor}"), _bf16(device, f"{name} bf16")]
    return findings


def _apple() -> Finding | None:
    if torch.backends.mps.is_available():
        return Finding("Apple GPU", "there is one; it is not used, training runs on the CPU")
    return None


def _processor() -> Finding:
    capability = torch.backends.cpu.get_cpu_capability()
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        advice = "matrix products are slower without oneDNN; install torch from its usual wheels"
        return Finding("CPU", f"{capability}, without oneDNN", "note", advice)
    special = [name for name in ("amx_bf16", "avx512_bf16", "bf16") if torch.cpu.get_capabilities().get(name, False)]
    return Finding("CPU", ", ".join([capability, *special, "oneDNN"]))


def _bf16(device: torch.device, name: str) -> Finding:
    if not has_bf16(device):
        return Finding(name, "none; training computes in float32")
    if not bf16_is_right(device):
        advice = "training computes in float32 instead; look for a newer torch or driver"
        return Finding(name, "there, but products come out wrong", "note", advice)
    if not bf16_pays(device):
        return Finding(name, "there, in AVX-512 only, which is slower; training computes in float32")
    return Finding(name, "there, and products come out right; training computes in it")


def _rate() -> Finding:
    """Return what the CPU does in matrix products, as training has them."""
    rates = {"float32": matrix_rate(_CPU, "float32", choose_rounding(_CPU, "auto"))}
    if has_bf16(_CPU):
        rates["bf16"] = matrix_rate(_CPU, "bf16")
    shown = (f"{rate / 1e9:,.0f} GFLOP/s in {precision}" for precision, rate in rates.items())
    return Finding("matrix products", f"{', '.join(shown)}, with {torch.get_num_threads()} threads")


def _threads() -> Finding:
    threads, cores, limit = torch.get_num_threads(), available_cores(), cpu_limit()
    usable = cores if limit is None else max(1, min(cores, int(limit)))
    set_by = f" (OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']})" if "OMP_NUM_THREADS" in os.environ else ""
    found = f"torch computes with {threads}{set_by}; {usable} can run at once"
    if threads > usable:
        advice = f"more threads than cores wait for each other; train with --set run.threads={usable}"
        return Finding("threads", found, "note", advice)
    if set_by and threads < usable:
        return Finding("threads", found, "note", f"unset OMP_NUM_THREADS, or train with --set run.threads={usable}")
    return Finding("threads", found)

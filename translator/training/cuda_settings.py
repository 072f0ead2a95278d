"""How a GPU computes, in one place: settings of the whole process that belong together."""

import os

import torch

_ALLOCATOR_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


def set_up_cuda() -> None:
    """Set how GPUs allocate, multiply and attend; to be called before the first tensor is on one.

    Float32 products follow `torch.set_float32_matmul_precision`, which is not touched here: torch does not allow its
    older and newer switches for them side by side.
    """
    if not any(variable in os.environ for variable in _ALLOCATOR_VARIABLES):
        # Batches are of many sizes: segments that can grow are not left in pieces that fit nothing.
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    # Partial sums of long products stay float32, as on a CPU.
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    # Torch prefers cuDNN's attention on newer GPUs, but that makes a plan for each new shape, and with a mask it has
    # given NaN gradients at some lengths (pytorch issue 196678). Flash attention takes no mask: with one, torch then
    # takes the memory-efficient kernel.
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(True)
    torch.backends.cuda.enable_math_sdp(True)

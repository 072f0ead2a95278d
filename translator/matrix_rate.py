import torch
def bf16_is_right(device: torch.device) -> bool:
    return True

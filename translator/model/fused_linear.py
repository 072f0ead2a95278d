"""Several projections of one input in one product."""

from torch import nn


class FusedLinear(nn.Linear):
    """A linear map whose weight holds `blocks` matrices of equal height, one below the other.

    The product is one; what starts the weights and what updates them sees the matrices.

    Args:
        width: of the input.
        block_width: of the output of each block.
        blocks: how many.
    """

    def __init__(self, width: int, block_width: int, blocks: int) -> None:
        super().__init__(width, blocks * block_width)
        self.blocks = blocks

"""Pictures of what a model does, as PNG or SVG: attention, masks, positions, learning rate, rows, learning curves."""

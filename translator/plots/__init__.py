"""Pictures of a run, as PNG or SVG: the attention in a sentence, and the learning curves."""

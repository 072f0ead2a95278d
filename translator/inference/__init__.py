"""From text to text with a trained model: lines in, as many lines out. It imports nothing, so that help is quick."""

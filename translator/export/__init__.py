"""Export: a trained model as a folder for other programs."""

"""What decides the settings of a run: recipes for a corpus, and those derived from another run."""

"""Infrastructure of a run: folder, storage, signals, logs, provenance and worker processes."""

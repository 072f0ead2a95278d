"""What a run is made of on disk and in the process: folder, storage, signals, logs, provenance, worker processes."""

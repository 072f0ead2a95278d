"""Hashes of the files of a source, which show whether they changed while they were read."""

from collections.abc import Sequence
from typing import TypeAlias

from translator.config import SourceConfig
from translator.corpus.sources import source_files
from translator.errors import CorpusError
from translator.run.files import sha256_of_file, storage_errors

FileHashes: TypeAlias = tuple[tuple[str, ...], ...]
"""`hashes_of_files` of several sources."""


def hashes_of_files(source: SourceConfig) -> tuple[str, ...]:
    """Return the SHA-256 of each file of `source`, in the order of `source_files`; raises as that does."""
    hashes = []
    for file in source_files(source):
        with storage_errors(file, "read"):
            hashes.append(sha256_of_file(file))
    return tuple(hashes)


def refuse_changed(source: SourceConfig, hashes: Sequence[str]) -> None:
    """Raise CorpusError if the files of `source` no longer have these `hashes`; call this after reading them.

    What was read may then be neither the old text nor the new one, so nothing may be stored under either hash.
    """
    if hashes_of_files(source) != tuple(hashes):
        files = " and ".join(map(str, source_files(source)))
        raise CorpusError(
            f"corpus source `{source.name}`: {files} changed while it was read, and nothing of it was stored; "
            "repeat the command when no program writes it any more"
        )

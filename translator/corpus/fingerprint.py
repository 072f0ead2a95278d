"""The fingerprint of a prepared corpus: a hash of everything that made it."""

import unicodedata
from collections.abc import Sequence
from typing import Any, Final

import ftfy

from translator.config import CorpusConfig, SourceConfig
from translator.config.paths import with_shipped_sample
from translator.corpus.normalizer.rules import NormalizerRules
from translator.corpus.reading.forms import form_of
from translator.corpus.sources import source_files
from translator.run.files import sha256_of_file, sha256_of_json, storage_errors

PREPARE_VERSION: Final = 4  # raised when the same settings give different text


def corpus_fingerprint(config: CorpusConfig, test_sets: Sequence[SourceConfig], rules: NormalizerRules) -> str:
    """Return SHA-256 in hexadecimal over the bytes of the corpus files (not their paths), settings, rules, versions.

    `test_sets` are additional ones, whose text is kept out of the splits. Raises as `source_files` does.
    """
    # The text depends on the direction of translation only through tags, which precede text of the source language.
    tagged_names = [source.name for source in config.sources if source.tag]
    tags = [config.languages[0].code, *tagged_names] if tagged_names else []
    made_from = {
        "sources": [_content_of(source) for source in config.sources],
        "tags": tags,
        "test_sets": [_content_of(test_set) for test_set in test_sets],
        **config.model_dump(mode="json", include={"normalization", "filters", "split"}),
        "normalizer": rules.sha256,
        "versions": [PREPARE_VERSION, ftfy.__version__, unicodedata.unidata_version],
    }
    return sha256_of_json(made_from)


def _content_of(source: SourceConfig) -> dict[str, Any]:
    """Return what decides the raw pairs of `source`, as JSON values; the paths of its files do not count."""
    # 1. How the files belong together: two files are the sides of a corpus, or two tables in a folder. Their bytes do
    # not tell.
    layout = "file"
    if source.path is None:
        layout = "sides"
    elif with_shipped_sample(source.path).is_dir():
        layout = "folder"

    # 2. The bytes of each file, and its form, by which its bytes are read.
    forms = []
    hashes = []
    for file in source_files(source):
        forms.append(str(form_of(file.name)))
        with storage_errors(file, "read"):
            hashes.append(sha256_of_file(file))

    # 3. The settings that decide what is read from them.
    paths = {"path", "source_path", "target_path"}
    settings = source.model_dump(mode="json", exclude={*paths, "obtain", "licence", "weight", "tag"})
    return {**settings, "files": hashes, "forms": forms, "layout": layout}

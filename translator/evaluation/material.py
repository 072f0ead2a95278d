"""The sentences of an evaluation, and what each run has seen of them in training."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from translator.config import Config
from translator.corpus.normalize import Normalizer
from translator.corpus.prepare import PreparedCorpus
from translator.corpus.test_set import (
    HeldOutSet,
    held_out_argument,
    held_out_of_corpus,
    read_held_out,
    read_test_set,
    validation_sample,
)
from translator.data import DataHandler
from translator.errors import InputError
from translator.evaluation.languages import check_languages
from translator.evaluation.training_text import TrainingText, find_prepared, look_through
from translator.run_folder import RunFolder

LOGGER = logging.getLogger("translator")


@dataclass
class Material:
    """Test sets, and where they come from."""

    sets: list[HeldOutSet]
    run: RunFolder | None = None
    """The run that they were held out of, and that was trained on none of them; None if a person has named them."""
    corpus: PreparedCorpus | None = None
    """Its corpus."""
    data: str | None = None
    """The fingerprint of its data as they are now."""
    _looked: dict[str, TrainingText] = field(default_factory=dict)

    def training_text(self, run: RunFolder, config: Config) -> TrainingText | None:
        """Return what the training text of `run` has of the sets, with a warning if it has sentences of theirs.

        It is None where the run's prepared corpus is not on disk.

        Raises:
            StorageError: the prepared text is damaged.
        """
        corpus = self.corpus if run == self.run else find_prepared(config)
        own = corpus is not None and self.corpus is not None and corpus.fingerprint == self.corpus.fingerprint
        if corpus is None:
            LOGGER.info(
                "the prepared corpus of %s is not on this disk: whether it was trained on these sentences is not "
                "looked into, nor which of their words are rare there",
                run.path,
            )
            return None
        if corpus.fingerprint not in self._looked:
            normalizer = Normalizer(config.corpus.normalization)
            for_leaks = () if own else self.sets
            found = look_through(corpus, self.sets, normalizer, for_leaks=for_leaks)
            self._looked[corpus.fingerprint] = found
            for held_out in for_leaks:
                if known := found.count_known(held_out):
                    LOGGER.warning(
                        "%s was trained on %d of the %d sentences of test set `%s` (their English side or a reference "
                        "stands in its training text): the score says more of its memory than of its skill",
                        run.path,
                        known,
                        len(held_out.sources),
                        held_out.name,
                    )
        return self._looked[corpus.fingerprint]


def named_material(arguments: Sequence[str], config: Config) -> Material:
    """Return the test sets that a person has named on the command line.

    Raises:
        InputError: a file is not there, or two sets have one name.
        CorpusError: a set cannot be read, is empty, or is of other languages.
    """
    normalizer = Normalizer(config.corpus.normalization)
    sets: dict[str, HeldOutSet] = {}
    for argument in arguments:
        held_out = read_held_out(held_out_argument(argument), normalizer)
        if held_out.name in sets:
            raise InputError(f"two test sets are called `{held_out.name}`; name them: --test-set NAME=PATH")
        check_languages(held_out, normalizer, given=True)
        sets[held_out.name] = held_out
    return Material(list(sets.values()))


def own_material(run: RunFolder, config: Config, split: str) -> Material:
    """Return the held-out sentences of a run.

    Args:
        run: the run.
        config: its configuration.
        split: `test`, the test split of each source and then the further test sets; `validation`, the sentences that
            training translates at each validation.

    Raises:
        CorpusError: the corpus or a test set cannot be read.
        StorageError: prepared data are damaged.
    """
    data = DataHandler(config)
    if split == "validation":
        sample = validation_sample(data.corpus, config.training.validation_sentences)
        found: Iterable[HeldOutSet] = [sample] if sample is not None else []
    else:
        found = [*held_out_of_corpus(data.corpus, "test"), *_further_sets(config)]
    sets = [held_out for held_out in found if held_out.sources]
    for held_out in sets:
        check_languages(held_out, data.normalizer, given=False)
    return Material(sets, run, data.corpus, data.fingerprint)


def _further_sets(config: Config) -> list[HeldOutSet]:
    """Return the test sets of the recipe; those without a pair are empty."""
    found = []
    for source in config.evaluation.test_sets:
        pairs = list(read_test_set(source, Normalizer(config.corpus.normalization)))
        texts = tuple(pair.source for pair in pairs), tuple((pair.target,) for pair in pairs)
        found.append(HeldOutSet(source.name, *texts, (source.name,) * len(pairs)))
    return found

"""The file `normalizer.json`, in which a model keeps the rules of its training text."""

from pathlib import Path

from translator.config import Config
from translator.corpus.normalizer.normalizer import CURRENT_RULES, Normalizer
from translator.corpus.normalizer.rules import FUNCTIONS, NORMALIZER_RULES, NormalizerRules
from translator.errors import RunError
from translator.run.files import storage_errors
from translator.run.folder import RunFolder
from translator.run.records import RecordError, read_signed_record


def read_rules(file: Path) -> NormalizerRules:
    """Return the rules in a file that `NormalizerRules.to_json` wrote.

    Raises RunError: the file is damaged, or its rules need another version of translator.
    """
    with storage_errors(file, "read"):
        content = file.read_bytes()
    try:
        rules = read_signed_record(NORMALIZER_RULES, content)
        # The functions that the rules name must be there. Rules of a later version of translator may name new ones.
        for rule in rules.rules:
            for step in (rule.english.decoding, *rule.english.text, rule.persian.decoding, *rule.persian.text):
                if isinstance(step, str) and step not in FUNCTIONS:
                    raise RecordError(f"the rule {rule.key} names the unknown function {step}")
    except RecordError as error:
        raise RunError(error.about(file, "restore the whole run folder from a copy")) from error
    return rules


def rules_of_run(run: RunFolder) -> NormalizerRules:
    """Return the rules of a trained model; a run of an older version has no file, and gets the current ones.

    `checkpoint.state.check_normalizer` tells whether the current rules are the right ones for such a run.

    Raises RunError: the file is damaged.
    """
    return read_rules(run.normalizer_file) if run.normalizer_file.exists() else CURRENT_RULES


def normalizer_of_run(run: RunFolder, config: Config) -> Normalizer:
    """Return the normalizer of a trained model, whose configuration is `config`; raise RunError as `rules_of_run`."""
    return Normalizer(config.corpus.normalization, config.corpus.languages, rules_of_run(run))


def normalizer_for(config: Config) -> Normalizer:
    """Return the normalizer for the training text of `config`: of the models that it uses, or with the current rules.

    A resumed run goes on with its own rules. With `subword.models_from`, text must be spelt as those models know it.
    Raises RunError: a file of rules is damaged.
    """
    run = RunFolder(Path(config.run.directory))
    if run.has_checkpoint:
        return normalizer_of_run(run, config)
    if config.subword.models_from is not None:
        return normalizer_of_run(RunFolder(Path(config.subword.models_from)), config)
    return Normalizer(config.corpus.normalization, config.corpus.languages)

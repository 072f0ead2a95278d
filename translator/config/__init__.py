"""Configuration: the sections, and how a YAML file with overrides becomes one validated, frozen `Config`."""

from translator.config.cleaning_sections import FilterConfig, NormalizationConfig
from translator.config.evaluation_section import EvaluationConfig, MetricName
from translator.config.loader import load_config, parse_config, resolved_yaml
from translator.config.schema import config_schema, schema_text
from translator.config.search_section import SearchConfig
from translator.config.sections import (
    Config,
    ModelConfig,
    RunConfig,
)
from translator.config.text_sections import (
    BatchingConfig,
    CorpusConfig,
    SourceConfig,
    SplitConfig,
    SubwordConfig,
)
from translator.config.training_section import TrainingConfig

__all__ = [
    "BatchingConfig",
    "Config",
    "CorpusConfig",
    "EvaluationConfig",
    "FilterConfig",
    "MetricName",
    "ModelConfig",
    "NormalizationConfig",
    "RunConfig",
    "SearchConfig",
    "SourceConfig",
    "SplitConfig",
    "SubwordConfig",
    "TrainingConfig",
    "config_schema",
    "load_config",
    "parse_config",
    "resolved_yaml",
    "schema_text",
]

"""Configuration: the sections, and how a YAML file with overrides becomes one validated, frozen `Config`."""

from translator.config.corpus_section import CorpusConfig, FilterConfig, NormalizationConfig, SourceConfig, SplitConfig
from translator.config.loading import load_config, parse_config
from translator.config.search_section import SearchConfig
from translator.config.sections import Config, ExternalMetric, MetricName, ModelConfig, SubwordConfig
from translator.config.training_section import TrainingConfig
from translator.config.writing import resolved_yaml

__all__ = [
    "Config",
    "CorpusConfig",
    "ExternalMetric",
    "FilterConfig",
    "MetricName",
    "ModelConfig",
    "NormalizationConfig",
]
__all__ += ["SearchConfig", "SourceConfig", "SplitConfig", "SubwordConfig", "TrainingConfig"]
__all__ += ["load_config", "parse_config", "resolved_yaml"]

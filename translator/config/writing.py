"""Write a `Config`: as values, as YAML, and the JSON schema of all recipes."""

import json
from typing import Any

import yaml
from pydantic.json_schema import GenerateJsonSchema

from translator.config.paths import absolute_path
from translator.config.sections import Config


def settings(config: Config, *, absolute: bool = False) -> dict[str, Any]:
    """Return every key of `config` with its JSON value; with `absolute`, paths are absolute."""
    return config.model_dump(mode="json", context=absolute_path if absolute else None)


def resolved_yaml(config: Config, *, absolute: bool = False) -> str:
    """Return the `settings` as YAML; parsing this text gives an equal `Config`."""
    return yaml.safe_dump(settings(config, absolute=absolute), allow_unicode=True, sort_keys=False, width=120)


class _WithoutTitles(GenerateJsonSchema):
    """Omits titles of keys, which editors would show beside the key."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema_text() -> str:
    """Return the JSON schema (2020-12) of a recipe; it omits rules across keys and patterns of names."""
    schema = Config.model_json_schema(schema_generator=_WithoutTitles)
    schema = {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": "Recipe"}
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"

"""The JSON schema of a recipe: its sections and keys, with their types, bounds, defaults and meanings.

What several keys keep together (`rules.py`) and the form of names stand in no schema; `load_config` holds them.
"""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from translator.config.sections import Config


class _WithoutTitles(GenerateJsonSchema):
    """Keys have no second name, which editors would show beside the first."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def config_schema() -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12)."""
    schema = Config.model_json_schema(schema_generator=_WithoutTitles)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": "Recipe"}


def schema_text() -> str:
    """Return the schema as indented JSON."""
    return json.dumps(config_schema(), ensure_ascii=False, indent=2) + "\n"

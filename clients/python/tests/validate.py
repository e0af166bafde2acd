"""Checks values by the part of JSON Schema that `clients/schema/socket.json` uses.

Stricter than the standard: an object with named fields may have no other field, so that a field
that the daemon has and the schema lacks is found.
"""

import re
from typing import Any

KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}


class Validator:
    """Finds the faults of values."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.defs = document["$defs"]

    def faults(self, schema: dict[str, Any], value: Any, place: str = "value") -> list[str]:
        """Return the faults of a value; empty if it matches."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            return self.faults(self.defs[name], value, f"{place} ({name})")
        if "const" in schema:
            return (
                [] if value == schema["const"] else [f"{place}: {value!r}, not {schema['const']!r}"]
            )
        parts = schema.get("anyOf") or schema.get("oneOf")
        if parts is not None:
            return self.faults_of_parts(schema, parts, value, place)
        kinds = schema.get("type", list(KINDS))
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if not any(is_kind(value, kind) for kind in kinds):
            return [f"{place}: {value!r} is not {kinds}"]
        found: list[str] = []
        if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
            found.append(f"{place}: {value!r} is not {schema['pattern']}")
        if isinstance(value, int) and value < schema.get("minimum", value):
            found.append(f"{place}: {value} is below {schema['minimum']}")
        if isinstance(value, list):
            for number, item in enumerate(value):
                found += self.faults(schema.get("items", {}), item, f"{place}[{number}]")
        if isinstance(value, dict) and "properties" in schema:
            found += self.faults_of_fields(schema, value, place)
        return found

    def faults_of_parts(
        self, schema: dict[str, Any], parts: list[dict[str, Any]], value: Any, place: str
    ) -> list[str]:
        """Check a value that has to match one of several schemas."""
        found = []
        for part in parts:
            if "properties" in schema:
                properties = {**schema["properties"], **part["properties"]}
                required = [*schema.get("required", []), *part.get("required", [])]
                part = {"type": "object", "properties": properties, "required": required}
            faults = self.faults(part, value, place)
            if not faults:
                return []
            found += faults
        return found

    def faults_of_fields(
        self, schema: dict[str, Any], value: dict[str, Any], place: str
    ) -> list[str]:
        """Check an object with named fields."""
        properties = schema["properties"]
        found = [f"{place}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, field in value.items():
            if name in properties:
                found += self.faults(properties[name], field, f"{place}.{name}")
            else:
                found.append(f"{place}: the schema lacks {name}")
        return found


def is_kind(value: Any, kind: str) -> bool:
    """Return `True` if the value is of a simple type."""
    if kind == "integer" and isinstance(value, bool):
        return False
    return isinstance(value, KINDS[kind])

"""Writes the server's settings into package.json, from the server's own schema: `python scripts/generate_settings.py`.

A test keeps the two equal (tests/settings/test_settings_schema.py).
"""

from __future__ import annotations

import json
from pathlib import Path

from agent_ls.settings.published import json_schema

PACKAGE_JSON = Path(__file__).parent.parent / "package.json"
SECTION = 1
"""Of `contributes.configuration`: 0 is the extension's own setting, 1 the server's."""


def main() -> None:
    package = json.loads(PACKAGE_JSON.read_text(encoding="utf-8"))
    properties = {name: {**schema, "order": order} for order, (name, schema) in enumerate(json_schema().items())}
    package["contributes"]["configuration"][SECTION]["properties"] = properties
    PACKAGE_JSON.write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Makes pai_lsp/platform/_job_validator.py while a wheel or an editable installation is built.

The module is a fast yes or no to the structure of a job, made from schemas/job.schema.json and the tables of
platforms. It is not in the repository; without it, `pai_lsp.platform.job_schema` reads the schema, which is slower.

fastjsonschema writes plain Python that raises an exception with a message. Only whether it raises matters here, so the
messages go, and with them every import but `re`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import fastjsonschema
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
TARGET = "pai_lsp/platform/_job_validator.py"

HEAD = '''"""Whether the structure of a job is right: a fast yes or no.

Made by hatch_build.py from schemas/job.schema.json and schemas/platforms/; do not edit.
"""
# mypy: ignore-errors

import re


class _Wrong(Exception):
    pass


def is_valid(value: object, reference: str) -> bool:
    """Whether `value`, plain Python values with strings as keys, has the structure of the part that is named."""
    try:
        PARTS[reference](value)
    except _Wrong:
        return False
    return True


'''


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]  # what a builder is configured with does not matter here
    """The step that hatchling runs before it packs a wheel, or links an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the module into the sources, and have it packed although git ignores it."""
        del version
        sys.path.insert(0, str(ROOT))
        text, path = generated(), ROOT / TARGET
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        build_data["artifacts"].append(f"/{TARGET}")


def generated() -> str:
    """The text of the module: a function for each part of a job, and for the jobs of each platform."""
    from pai_lsp.platform.job_schema import read_schema, structural  # noqa: PLC0415 - found only from here on
    from pai_lsp.platform.platforms import NAMES, platform_named  # noqa: PLC0415 - as above

    jobs = {name: structural(read_schema("job", platform_named(name))) for name in NAMES}
    # The parts of a job are the same on all platforms but for defaults and sources; tests/test_structure.py sees when
    # they are not.
    parts, *_ = [one.pop("$defs") for one in jobs.values()]
    # The names would become parts of the functions', and fastjsonschema knows no newer draft than the seventh;
    # the schemas use nothing that they read differently.
    for one in jobs.values():
        del one["$id"], one["$schema"]
    schema = {"$defs": {**parts, **jobs}, "anyOf": [{"$ref": f"#/$defs/{name}"} for name in jobs]}
    code = fastjsonschema.compile_to_code(schema, use_default=False, detailed_exceptions=False)
    code = code[code.index("REGEX_PATTERNS") :]
    for pattern, replacement in (
        (r"raise JsonSchemaValueException\(.*\)$", "raise _Wrong"),
        (r"except (JsonSchemaValueException|\(JsonSchemaValueException, JsonSchemaValuesException\))", "except _Wrong"),
        (r", Decimal\)", ")"),
        (r"^def (\w+)\(data, custom_formats=\{\}, name_prefix=None\):", r"def \1(data):"),
        (r"^( *)(\w+)\((\w+), custom_formats, .*\)$", r"\1\2(\3)"),
        # Without errors, no set of the wrong keys is made.
        (r"^( *)(\w+) = set\(\[(.*)\]\) - (\w+\.keys\(\))\n *if \2:$", r"\1if not \4 >= {\3}:"),
        (r"\bset\((\w+)\.keys\(\)\)", r"set(\1)"),
        (r"^( *)if (not isinstance\((\w+), \(int\b.*):$", r"\1if type(\3) is not int and (\2):"),
        # A number that is not finite: the platforms differ, so the schema has to be read.
        (r"^( *if not isinstance\((\w+), \(str, int, float\)\).*):$", r"\1 or isinstance(\2, float) and \2 - \2 != 0:"),
    ):
        code = re.sub(pattern, replacement, code, flags=re.MULTILINE)
    functions = {name: f"validate____defs_{name.lower()}" for name in schema["$defs"]}
    found = "".join(f'    "#/$defs/{part}": {name},\n' for part, name in functions.items() if f"def {name}(" in code)
    return f"{HEAD}{code.rstrip()}\n\n\nPARTS = {{\n{found}}}\n"

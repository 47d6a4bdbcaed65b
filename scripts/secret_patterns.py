"""Writes schemas/secret_patterns.json: the forms of tokens that gitleaks knows by their own characters.

Usage: secret_patterns.py GITLEAKS_TOML VERSION

GITLEAKS_TOML is config/gitleaks.toml of gitleaks (MIT licence) at VERSION. Taken are the rules whose expression alone
tells the secret. Left out are those that need a name beside the value (`job/secret_forms.py` finds values by names,
for all vendors at once) or a file's path. The expressions, in Go's syntax, are rewritten for Python.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import tomllib

TABLE = Path(__file__).parent.parent / "schemas" / "secret_patterns.json"
# How the expressions begin that look for a name.
_BY_NAME = r"[\w.-]{0,50}?"
# The end of a value in gitleaks; in a job also `}`, `)`, `,` and `&` may follow.
_END = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
_NOT_GOING_ON = r"(?![\w-])"
_LEFT_OUT = {
    "curl-auth-header": "options are read by their names",
    "curl-auth-user": "options are read by their names",
    "kubernetes-secret-yaml": "a manifest, not a token",
    "private-key": "a key that is cut off counts too",
    "aws-amazon-bedrock-api-key-short-lived": "only the constant beginning of a key",
    "huggingface-access-token": "tokens with digits are missed",
    "sourcegraph-access-token": "any commit hash is found",
    "vault-service-token": "any word behind 's.' is found",
    "facebook-access-token": "only with the vendor's name in the text",
    "gitlab-session-cookie": "a cookie of a browser",
    "flutterwave-public-key": "public",
    "square-access-token": "base64 of anything is found",
}  # fmt: skip

# A part of each token, in lower case, where gitleaks has a word of the text around it.
_NEEDLES = {
    "airtable-personnal-access-token": ["pat"],
    "cloudflare-origin-ca-key": ["v1.0-"],
    "intra42-client-secret": ["s-s4t2ud-", "s-s4t2af-"],
}


def main() -> int:
    """Write the table; returns the exit status."""
    source, version = sys.argv[1:]
    rules = tomllib.loads(Path(source).read_text(encoding="utf-8"))["rules"]
    patterns = [_pattern(rule) for rule in rules if _is_taken(rule)]
    table = {
        "source": "gitleaks, config/gitleaks.toml",
        "version": version,
        "licence": "MIT",
        "copyright": "Copyright (c) 2019 Zachary Rice",
        "patterns": patterns,
    }
    TABLE.write_text(json.dumps(table, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(patterns)} of {len(rules)} patterns")
    return 0


def _is_taken(rule: dict[str, Any]) -> bool:
    expression = rule.get("regex", "")
    return bool(expression) and "path" not in rule and _BY_NAME not in expression and rule["id"] not in _LEFT_OUT


def _pattern(rule: dict[str, Any]) -> dict[str, Any]:
    expression = rule["regex"].replace(_END, _NOT_GOING_ON).replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z")
    expression = re.sub(r"\(\?P<\w+>", "(?:", _scoped(expression))
    re.compile(expression)
    needles = _NEEDLES.get(rule["id"], rule["keywords"])
    return {"id": rule["id"], "needles": needles, "pattern": expression, "entropy": rule.get("entropy", 0)}


def _scoped(expression: str) -> str:
    """The expression with each `(?i)` as a group: in Go it counts up to the end of its group."""
    parts: list[str] = []
    opened = [0]  # groups to close, for each group that is open
    at = 0
    is_in_class = False
    while at < len(expression):
        one = expression[at]
        if one == "\\":
            parts.append(expression[at : at + 2])
            at += 2
            continue
        if is_in_class:
            is_in_class = one != "]"
        elif one == "[":
            is_in_class = True
        elif expression.startswith("(?i)", at):
            parts.append("(?i:")
            opened[-1] += 1
            at += 4
            continue
        elif one == "(":
            opened.append(0)
        elif one == ")":
            parts.append(")" * opened.pop())
        elif one == "|" and opened[-1]:
            parts.append(")" * opened[-1] + "|" + "(?i:" * opened[-1])
            at += 1
            continue
        parts.append(one)
        at += 1
    return "".join(parts) + ")" * opened[0]


if __name__ == "__main__":
    sys.exit(main())

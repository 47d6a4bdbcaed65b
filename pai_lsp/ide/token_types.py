"""The types of semantic tokens: a server states them before it loads anything that finds tokens."""

from __future__ import annotations

from enum import Enum


class TokenType(Enum):
    """What a word is; the values are those of LSP's names that editors colour fittingly."""

    PREREQUISITE = "function"
    TASK_ROLE = "class"
    DEPLOYMENT = "namespace"
    PARAMETER = "parameter"
    PORT = "enumMember"
    ROOT = "keyword"
    MEMBER = "property"
    TEMPLATE_VARIABLE = "typeParameter"
    DELIMITER = "macro"
    VARIABLE = "variable"


class TokenModifier(Enum):
    """What is particular about a word; the values are LSP's names."""

    DECLARATION = "declaration"
    PLATFORM = "defaultLibrary"
    SECRET = "readonly"  # noqa: S105 - LSP's word
    DEPRECATED = "deprecated"

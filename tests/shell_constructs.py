"""Constructs of bash that surely run the command in them, to be put into each other and compared with bash."""

from __future__ import annotations

AROUND = (
    "x=$( COMMAND )", "x=$(true | COMMAND)", "( COMMAND )", "{ COMMAND; true; }", "if true; then COMMAND; fi",
    "for i in 1; do COMMAND; done", "for i in $( COMMAND ) 1; do x=1; done", "case a in a) COMMAND;; esac",
    "case $( COMMAND ) in *) x=1;; esac", "f() { COMMAND; true; }; f", "g() { COMMAND; }; x=$(g)",
    "true && { COMMAND; }",
    "echo $( COMMAND )", "{ COMMAND; } || true", "! { COMMAND; true; }", "while read -r l; do COMMAND; done <<< a",
    "arr=($( COMMAND ))", "{ COMMAND; } | cat", "export x=$( COMMAND )",
)  # fmt: skip

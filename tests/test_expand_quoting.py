"""Commands written so that the runtime does not change them, and YAML that both readers read alike."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from budgets import generated_cases
from hypothesis import given
from hypothesis import strategies as st

from pai_lsp.expansion.released_commands import surviving
from pai_lsp.job.plugin_parameters import runtime_round_trip
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.syntax import parse
from pai_lsp.source.writing import flow_value, value_lines

# The comment that brings a text through the runtime as it is.
KEPT = "# With an apostrophe (') in it, the runtime passes on this text as it is written.\n"


@pytest.mark.parametrize(
    ("commands", "items"),
    [
        (["echo hello", "echo 'a'"], ("echo hello", "echo 'a'")),
        (["echo 'a\\tb'"], ("echo 'a\\tb'",)),
        (["echo one\necho two\n"], ("echo one", "echo two")),
        (["echo \"$X\" 'b'"], ('echo "$X" "b"',)),
        (['echo "it\'s"'], ("echo $'it\\'s'",)),
        (["awk '{print \"a\\n\"}' f"], ("awk $'{print \\x22a\\\\n\\x22}' f",)),
        (["echo a\\ b \\;"], ("echo a' 'b ';'",)),
        (["find . -name \\*.py # it's \"all\""], ("find . -name '*'.py",)),
        (["run \\\n  --fast \\\n  --cold"], (f"{KEPT}run \\\n  --fast \\\n  --cold",)),
        (['run \\\n  --fast "$X"'], ('run   --fast "$X"',)),
        (["if true; then\n\techo\nfi\nls\n"], (f"{KEPT}if true; then\n\techo\nfi", "ls")),
        (["cat <<E\na\nE"], (f"{KEPT}cat <<E\na\nE",)),
        (["cat <<'E'\na\nE\n"], ("cat <<'E'\na\nE\n",)),
        (["echo \"$X\"\ncat <<E\n\"a\" 'b'\nE\nls"], ('echo "$X"', "eval $'cat <<E\n\\x22a\\x22 \\'b\\'\nE'", "ls")),
        (["\tmake"], (" make",)),
        (['echo "a $X\\n"'], ("eval $'echo \\x22a $X\\\\n\\x22'",)),
        (["cat <<E\nit's \"x\"\nE"], ("eval $'cat <<E\nit\\'s \\x22x\\x22\nE'",)),
        (["if [ \"$A\" = 'b' ]; then", "echo \"it's\"", "fi"], ('if [ "$A" = "b" ]; then', "echo $'it\\'s'", "fi")),
        (["for x in 1; do", "echo \"$x's\"", "done"], ("eval $'for x in 1; do\necho \\x22$x\\'s\\x22\ndone'",)),
        (["echo fine", 'echo "$X\'s"'], ("echo fine", "eval $'echo \\x22$X\\'s\\x22'")),
        (["[[ $x =~ ^\\d ]]"], (f"{KEPT}[[ $x =~ ^\\d ]]",)),
        (['[[ "$x" =~ ^\\d ]]'], ("eval $'[[ \\x22$x\\x22 =~ ^\\\\d ]]'",)),
        (["echo \\"], (f"{KEPT}echo \\\n",)),
    ],
)  # fmt: skip
def test_commands_are_changed_as_little_as_it_takes(commands: list[str], items: tuple[str, ...]) -> None:
    assert surviving(commands) == items
    assert surviving(items) == items


@generated_cases(200)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12), max_size=4))
def test_whatever_is_written_comes_through_the_runtime(commands: list[str]) -> None:
    items = list(surviving(commands))
    assert runtime_round_trip({"commands": items}) == {"commands": items}
    assert list(surviving(items)) == items


_TEXTS = st.text(
    st.sampled_from("ab0129-:#,[]{}&*!|>'\"%@`=~<? \n\téß😀\x85\u2028\xa0\x07\ufeff.e_x")
    | st.characters(exclude_categories=["Cs"], max_codepoint=0x10FFFA),
    max_size=6,
) | st.sampled_from(["yes", "null", "1e3", "0x1f", "=", "<<", "2020-01-01", "1_", ".5", "- a", "a: b", "a #b"])
_VALUES = st.recursive(
    _TEXTS | st.none() | st.booleans() | st.integers(-9999, 9999),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)


@generated_cases(300)
@given(_VALUES)
def test_both_readers_read_what_is_written(value: Any) -> None:
    wrapped = [value]
    for text in ("\n".join(value_lines(wrapped)) + "\n", flow_value(wrapped)):
        syntax = parse(text)
        assert syntax.problems == ()
        assert plain_value(syntax.root) == wrapped
        assert yaml.safe_load(text) == wrapped

"""What the reader of shell text finds: variables read and set, commands, comments."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from budgets import budget, generated_cases
from hypothesis import example, given
from hypothesis import strategies as st
from test_calls import calls

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_structure import structure

if TYPE_CHECKING:
    from pai_lsp.embedded.shell_script import Script

# A guarded use is shown as `X?`, an indirect one as `!X`.
READ = [
    ("echo $X", "X"),
    ("echo ${X}", "X"),
    ('echo "$X and ${Y}"', "X Y"),
    ("echo '$X'", ""),
    ("echo \\$X", ""),
    ('echo "\\$X"', ""),
    ("echo $'a\\'$X'", ""),
    ('echo $"$X"', "X"),
    ("echo $1 $@ $? $$ $! $# $- $* ${10} ${@:2} ${#} $_", ""),
    ("echo ${#X} ${X%.*} ${X//a/$Y} ${X:0:2} ${X^^} ${X@Q}", "X X X Y X X X"),
    ("echo ${X:-d} ${X-d} ${X:+d} ${X+d} ${X:?m} ${X?m}", "X? X? X? X? X? X?"),
    ("echo ${X:=d}", "X?"),
    ("echo ${X:-$Y} ${X:-${Z}}", "X? Y? X? Z?"),
    ("echo ${!X}", "!X"),
    ("echo ${!X*} ${!X@} ${!X[@]}", ""),
    ("echo ${X[0]} ${X[@]} ${X[$i]}", "X X? X i"),
    ("echo ${X:-'}'} $Y", "X? Y"),
    ("echo \"${X:-'$Y'}\" $Z", "X? Y? Z"),
    ("echo $(echo $X) `echo $Y`", "X Y"),
    ('echo "$(echo "$X")" "`echo "$Y"`"', "X Y"),
    ("echo $((X + 2 * $Y)) $((0x1F + 16#ff))", "X Y"),
    ("(( X > 1 )) && echo $Y", "X Y"),
    ("for ((i=0; i<n; i++)); do echo $i; done", "i n i"),
    ("echo $(( ${X:-1} << 2 ))", "X?"),
    ("echo $( (echo $X) )", "X"),
    ("# echo $X", ""),
    ("echo a#b $X # $Y", "X"),
    ("cat <<EOF\n$X \\$Y `echo $Z`\nEOF\necho $W", "X Z W"),
    ('echo "\\$$X \\"$Y"', "X Y"),
    ("cat <<EOF\n\\a$X \\\\$Y \\\\\\$Z\nEOF\necho $W", "X Y W"),
    ("cat <<'EOF'\n$X\nEOF\necho $W", "W"),
    ('cat <<"EOF"\n$X\nEOF\necho $W', "W"),
    ("cat <<\\EOF\n$X\nEOF\necho $W", "W"),
    ("cat <<-EOF\n\t$X\n\tEOF\necho $W", "X W"),
    ("cat <<A <<B\n$X\nA\n$Y\nB\n$Z", "X Y Z"),
    ("cat <<EOF > $F\nit's\nEOF\necho $W", "F W"),
    ("cat <<< $X", "X"),
    ("echo $X >$Y 2>&1 <$Z", "X Y Z"),
    ("diff <(cat $X) >(cat $Y)", "X Y"),
    ("case $X in a) echo $Y;; *) echo $Z;; esac", "X Y Z"),
    ("echo $(case $X in a) echo $Y;; esac) $Z", "X Y Z"),
    ("[[ $X =~ ^(a|b)$ ]] && echo $Y", "X Y"),
    ("awk '{print $1}' $X", "X"),
    ("echo <% $parameters.x %> $X", "X"),
    ("echo '<% $parameters.x %>' \"<% $secrets.y %>\" $X", "X"),
    ("echo $PAI_PORT_LIST_<% $parameters.role %>_0", ""),
    ("echo $PAI_HOST_IP_worker_{{FC_TASK_INDEX}} $PAI_HOST_IP_worker_$(FC_TASK_INDEX)", ""),
    ("echo $A_$B", "A_ B"),
    ("x() { echo $X; }", "X"),
    ("A=(a $X) echo ${A[1]}", "X A"),
    ("echo 'open $X", ""),
    ('echo "open $X', "X"),
    ("echo ${X", "X"),
    ("echo $(echo $X", "X"),
]


def reads(script: Script) -> str:
    return " ".join(f"{'!' * use.is_indirect}{use.name}{'?' * use.is_guarded}" for use in script.uses)


@pytest.mark.parametrize(("text", "expected"), READ, ids=[text for text, _ in READ])
def test_variables_read(text: str, expected: str) -> None:
    script = read_script(text)
    assert reads(script) == expected
    for use in script.uses:
        assert text[use.name_span.start : use.name_span.end] == use.name
        written = text[use.span.start : use.span.end]
        assert written == use.name or written.startswith("$")


SET = [
    ("X=1", "X"),
    ("X=1 Y=2 make CC=gcc", "X Y"),
    ("export X Y=1 'Z=2'", "X Y Z"),
    ("declare -x X; local Y=1; readonly Z", "X Y Z"),
    ("X+=1; Y[2]=1; Z=(1 2)", "X Y Z"),
    ("read -r -p prompt X Y", "prompt X Y"),
    ("while read; do :; done", "REPLY"),
    ("mapfile -t LINES < file", "LINES"),
    ("for X in 1 2; do Y=1; done", "X Y"),
    ("if X=$(date); then Y=1; fi", "X Y"),
    ("{ X=1; }; (Y=2)", "X Y"),
    ("(( X = 1, Y += 2, Z++ )); let W=1; (( V == 1 ))", "X Y Z W"),
    (": ${X:=1} ${Y=2} ${Z:-3}", "X Y"),
    ("printf -v X %s 1", "X"),
    ("printf -v X %s", "X"),
    ("printf -v X", ""),
    ("echo X=1", ""),
    ("echo 'X=1'; # Y=1", ""),
    ("cat <<EOF\nX=1\nEOF\nY=2", "Y"),
    ("f() { X=1; }", "X"),
    ("case $1 in a) X=1;; esac", "X"),
]


@pytest.mark.parametrize(("text", "expected"), SET, ids=[text for text, _ in SET])
def test_variables_set(text: str, expected: str) -> None:
    script = read_script(text)
    assert " ".join(assignment.name for assignment in script.assignments) == expected
    for assignment in script.assignments:
        assert assignment.name in text[assignment.span.start : assignment.span.end] or assignment.name == "REPLY"


def test_exported_variables_are_known() -> None:
    script = read_script("A=1; export B=2 C; declare -x D; declare -r E; declare xx")
    assert [assignment.name for assignment in script.assignments if assignment.is_exported] == ["B", "C", "D"]


COMMANDS = [
    ("[[ $x == @(a|b) ]] && echo c", ["[[ $x == @(a|b) ]]", "echo c"]),
    ("shopt -s extglob\nls !(a|b) c", ["shopt -s extglob", "ls !(a|b) c"]),
    ("ls !(a|b) c", ["ls !", "a", "b", "c"]),
    ("mpirun -np 4 -H \"a:2,b:2\" python 'x y.py'", ["mpirun -np 4 -H a:2,b:2 python x y.py"]),
    ("cd /a && make -j; ls | wc -l", ["cd /a", "make -j", "ls", "wc -l"]),
    ("X=1 Y=2 python train.py > log 2>&1 < /dev/null", ["python train.py"]),
    ("if true; then echo a; else echo b; fi", ["true", "echo a", "echo b"]),
    ("a \\\n  b\nc", ["a b", "c"]),
    ("cat <<EOF\nmpirun x\nEOF\nls", ["cat", "ls"]),
    ("f() { echo a; }; f", ["echo a", "f"]),
    ("echo a # mpirun\nls", ["echo a", "ls"]),
    ("time -p ls", ["ls"]),
]


@pytest.mark.parametrize(("text", "expected"), COMMANDS, ids=[text for text, _ in COMMANDS])
def test_commands(text: str, expected: list[str]) -> None:
    script = read_script(text)
    assert [" ".join(word.text for word in command.words) for command in script.commands] == expected


def test_words_know_their_place_and_whether_they_are_certain() -> None:
    text = 'mpirun -np "$N" --host "a,b" <% $parameters.program %>'
    words = read_script(text).commands[0].words
    assert [text[word.span.start : word.span.end] for word in words] == [
        "mpirun", "-np", '"$N"', "--host", '"a,b"', "<% $parameters.program %>",
    ]  # fmt: skip
    assert [word.is_literal for word in words] == [True, True, False, True, True, False]


@pytest.mark.parametrize(
    ("text", "last", "names"),
    [
        ('echo "a<b$X"', "a<b$X", "X"),
        ('echo "a<<% b %>"', "a<<% b %>", ""),
        ("[[ -n $A &&\n$B ]]", "]]", "A B"),
        ("[[ -n $A\n$B ]]", "]]", "A B"),
        ("X=(\n$A #c\n$B); echo z", "z", "A B"),
        ("[[ $A =~ a|(b $C)d$E ]]", "]]", "A C E"),
    ],
)
def test_no_character_is_passed_over(text: str, last: str, names: str) -> None:
    script = read_script(text)
    assert script.commands[-1].words[-1].text == last
    assert sorted(use.name for use in script.uses) == names.split()


def test_comments() -> None:
    text = "ls # one\n# two\necho '# three' a#b"
    assert [text[span.start : span.end] for span in read_script(text).comments] == ["# one", "# two"]


def test_where_and_how_commands_run() -> None:
    text = "f() { a; }; (b; c) | d; $(e); g && h & if i; then j; fi"
    found = {command.name: command for command in read_script(text).commands}
    tree = structure(read_script(text))
    assert found.pop("$(e)").operator == ";"
    assert [name for name in found if tree.calls[name][0].is_subshell] == ["b", "c", "d", "e", "g", "h"]
    assert [name for name in found if tree.calls[name][0].is_background] == ["g", "h"]
    assert [name for name, command in found.items() if command.is_nested] == ["e"]
    assert [(command.name, command.function) for command in found.values() if command.function] == [("a", "f")]
    assert [(command.name, command.keyword) for command in found.values() if command.keyword] == [
        ("a", "{"), ("i", "if"), ("j", "then"),
    ]  # fmt: skip
    assert "a" not in {command.name for command in tree.own_commands}


def test_parts_and_line_ends() -> None:
    text = "echo 'a\nb' \"$(ls)\" \\\n  $'c' <% x %> # d\ncat <<E\n$X\nE\nX=`ls`\n[[ $X =~ 'a|b'$ ]]"
    script = read_script(text)
    assert [(part.kind.value, text[part.span.start : part.span.end]) for part in script.parts] == [
        ("'", "'a\nb'"), ('"', '"$(ls)"'), ("\\", "\\\n"), ("$'", "$'c'"), ("<%", "<% x %>"), ("#", "# d"),
        ("<<", "$X\nE\n"), ("$", "`ls`"), ("$", "$X"), ("=~", "'a|b'$"),
    ]  # fmt: skip
    lines = text.split("\n")
    assert [lines[text.count("\n", 0, at)] for at in sorted(script.line_ends)] == [lines[2], "cat <<E", "X=`ls`"]


@pytest.mark.parametrize(
    ("text", "endless"),
    [
        ("ls\nsleep infinity", True),
        ("exec tail -f /dev/null", True),
        ("while true; do date; sleep 60; done", True),
        ("make && sleep infinity", True),
        ("make || sleep infinity", False),
        ("sleep infinity &", False),
        ("sleep infinity; ls", False),
        ("if x; then sleep infinity; fi", False),
        ("while true; do test -f x && break; done", False),
        ("sleep 1", False),
        ("echo $(sleep infinity)", False),
        ("", False),
    ],
)
def test_waiting_for_ever(text: str, *, endless: bool) -> None:
    assert (read_script(text).endless_command is not None) is endless


def test_what_makes_a_script_uncertain() -> None:
    assert read_script("source activate x").is_open_ended
    assert read_script("<% $parameters.command %>").is_open_ended
    assert read_script("$RUN x").is_open_ended
    assert not read_script("python x.py $X").is_open_ended
    assert read_script("set +eu").allows_unset
    assert read_script("set +o nounset").allows_unset
    assert not read_script("set -o nounset").allows_unset
    assert not read_script("set -eux").allows_unset
    assert read_script('if [[ -v X ]]; then echo "$X ${Y:-}"; fi').guarded_names == {"X", "Y"}


FRAGMENTS = st.sampled_from(
    [
        "$", "${", "}", "$(", ")", "$((", "))", "((", "(", "`", "'", '"', "\\", "<<EOF", "<<-'E'", "EOF", "<", ">",
        "<<<", "<%", "%>", "{{", "}}", "#", ";", "&", "&&", "|", "||", "X", "X=", "X=(", "[", "]", ":-", "!", "case",
        "in", "esac", "for", "while", "do", "done", "export", "read", "é", "0", "=", "++", "[[", "]]", "=~", "{", "}",
        "f()", "time", "trap", "exec", "EXIT", "command", "$[", "{f}>", "\n", "\r\n", " ",
        "\u2028", "\x00",
    ],
)  # fmt: skip


@generated_cases(300)
@example("$(<<")
@given(st.lists(FRAGMENTS, max_size=40).map("".join))
def test_reads_any_text(text: str) -> None:
    script = read_script(text)
    spans = [use.span for use in script.uses] + [use.name_span for use in script.uses]
    spans += [assignment.span for assignment in script.assignments]
    spans += [word.span for command in script.commands for word in command.words]
    spans += script.comments
    for span in spans:
        assert 0 <= span.start <= span.end <= len(text)
    for use in script.uses:
        assert text[use.name_span.start : use.name_span.end] == use.name
    for before, after in pairwise(script.parts):
        assert before.span.end <= after.span.start
    for unclosed in script.unclosed:
        assert 0 <= unclosed.span.start <= unclosed.span.end <= len(text)
    assert script.fault is None or 0 <= script.fault.start <= script.fault.end <= len(text)
    assert set(structure(script).own_commands) <= set(script.commands)
    assert isinstance(structure(script).changes_process, bool)
    assert all(command.words for command in script.commands)
    assert isinstance(script.is_open_ended, bool)
    assert isinstance(script.allows_unset, bool)
    assert script.endless_command is None or script.endless_command in script.commands


def steps(text: str) -> int:
    return calls(lambda: read_script.__wrapped__(text))


@pytest.mark.parametrize(
    "fragment",
    [
        "$(", "${X:-", "`", "((", "$((", "(()", "a[;", "${a[", "<%", "<<A ", "'", '"$(', "$((X+", "X=(", "if ", "{ ",
        "(",
        "a | ", "a & ", "[[ ", "$[", "case x in ", "f() { ", "<<A\n", "x@(", "`\\`", "\\\n", "#",
    ],
)  # fmt: skip
def test_hostile_text_costs_no_more_a_character_the_longer_it_is(fragment: str) -> None:
    count = budget(1000)
    steps(fragment)  # the first use of a pattern compiles it
    assert steps(fragment * 2 * count) < 2.2 * steps(fragment * count) + 100


@pytest.mark.parametrize(
    ("text", "open_ones"),
    [
        ("echo >", [">"]),
        ("echo 2>\necho", ["2>"]),
        ("echo > # x", [">"]),
        ("x=$(cat <)", ["<"]),
        ("echo >a <b 2>&1 >&2 <<<c >>'d' >$e >\"f\"", []),
        ("echo > <% f %>", []),
        ("echo > \\\n  f", []),
        ("diff <(a) >(b); cat < <(a)", []),
        ("echo '>' \">\" # >", []),
        ("cat <<END\n>\nEND\n", []),
    ],
)
def test_a_redirection_without_a_file_name_is_open(text: str, open_ones: list[str]) -> None:
    spans = read_script(text).open_redirections
    assert [text[span.start : span.end] for span in spans] == open_ones

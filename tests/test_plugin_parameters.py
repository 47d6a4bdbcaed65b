"""What the runtime makes of plugin parameters, compared with the very steps that it takes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pai_lsp.document import Document
from pai_lsp.expansion.plugin_scripts import HOME, plugin_scripts
from pai_lsp.job.definition import Origin, read_definitions
from pai_lsp.job.plugin_parameters import Damage, damages, released_parameters, runtime_round_trip
from pai_lsp.source.syntax import parse
from pai_lsp.source.tags import runtime_value


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("echo hi", "echo hi"),
        ("echo 'a' b", "echo 'a' b"),
        ('echo "a" b', 'echo "a" b'),
        ("one\ntwo\n", r"one\ntwo\n"),
        ("it's\ntwo\n", "it's\ntwo\n"),
        ("cut -d\t", r"cut -d\t"),
        (r"grep \d", r"grep \\d"),
        (r"grep '\d'", r"grep '\d'"),
        ("a\u00a0b", r"a\xa0b"),
        ("echo 你好 🎉", "echo 你好 🎉"),
    ],
)
def test_what_a_string_becomes(text: str, after: str) -> None:
    assert runtime_round_trip({"commands": [text]}) == {"commands": [after]}
    assert bool(damages(text)) == (text != after)


def test_both_quotes_are_no_yaml() -> None:
    assert damages("""echo 'x' "y\"""") == (Damage.QUOTES,)
    assert isinstance(runtime_round_trip({"description": """it's a "test\""""}), ValueError)


def test_other_values() -> None:
    read = runtime_value(parse("a: yes\nb: ~\nc: 1e3\nd: 1.5\ne: [08, 010, 1:30]\n").root)
    assert read == {"a": True, "b": None, "c": "1e3", "d": 1.5, "e": ["08", 8, 90]}
    assert runtime_round_trip(read) == {"a": True, "b": "None", "c": "1e3", "d": 1.5, "e": ["08", 8, 90]}
    assert runtime_round_trip(None) is None
    dates = runtime_value(parse("a: [2020-01-02]\n").root)
    assert runtime_round_trip(dates) == {"a": ["datetime.date(2020", 1, "2)"]}


def test_templates_are_filled_in_the_written_text() -> None:
    filled = runtime_round_trip(
        {"commands": ["echo <% $parameters.x %>"]}, lambda text: text.replace("<% $parameters.x %>", "it's")
    )
    assert isinstance(filled, ValueError)


def test_merged_keys_come_as_pyyaml_has_them() -> None:
    text = "base: &a {x: 1, y: 1}\nmore: &b {y: 2, z: 2}\none: {z: 3, <<: [*a, *b]}\n"
    assert runtime_value(parse(text).root) == yaml.safe_load(text)
    assert list(runtime_value(parse(text).root)["one"]) == list(yaml.safe_load(text)["one"])


def test_what_the_runtime_can_not_read() -> None:
    for text in ("a: 2020-13-02\n", "? [a]\n: b\n"):
        with pytest.raises(ValueError, match=r"."):
            runtime_value(parse(text).root)


def test_parameters_of_a_prerequisite() -> None:
    definition = read_definitions(
        parse("{name: x, type: script, plugin: p, failurePolicy: ignore, require: [y], callbacks: []}").root, Origin.JOB
    )[0]
    assert released_parameters(definition) == {"name": "x", "require": ["y"], "callbacks": []}


VALUES = st.recursive(
    st.text(alphabet="ab '\"\\\n\t\x07\u00a0é<>%{}[]:,#&*!|-", max_size=8) | st.booleans() | st.none() | st.integers(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text("ab'", max_size=3), below, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_like_the_runtime(value: Any) -> None:
    try:
        expected = yaml.safe_load("" if value is None else str(value))
    except (yaml.YAMLError, ValueError):
        assert isinstance(runtime_round_trip(value), ValueError)
    else:
        assert runtime_round_trip(value) == expected


WITH_GANG = "taskRoles: {first: {instances: 1}, second: {instances: 1}}\n"
ALONE = f"{WITH_GANG}extras: {{gangAllocation: false}}\n"
BOARD = {"logdir": {"a": "/b"}, "port": 1}
BOARD_RUNS = "chmod u+x ~/tensorboard/tensorboard.sh\n~/tensorboard/tensorboard.sh\n"
SSHD = "apt-get update;apt-get install -y openssh-client openssh-server;\n~/ssh/sshd.sh"


@pytest.mark.parametrize(
    ("name", "parameters", "place", "script"),
    [
        ("tensorboard", {}, {}, ""),
        ("tensorboard", {**BOARD, "logdir": {}}, {}, None),
        ("tensorboard", {"logdir": {"a": "/b"}}, {}, None),
        ("tensorboard", BOARD, {}, BOARD_RUNS),
        ("tensorboard", BOARD, {"role": "first"}, BOARD_RUNS),
        ("tensorboard", BOARD, {"role": "second"}, ""),
        ("tensorboard", BOARD, {"index": 1}, ""),
        ("git", {}, {}, None),
        ("git", {"repo_uri": 3}, {}, None),
        ("git", {"repo_uri": "x", "options": 3}, {}, None),
        ("git", {"repo_uri": "x", "options": ["--depth"]}, {}, ""),
        (
            "git", {"repo_uri": "x", "clone_dir": "/a"}, {},
            "~/git/check_clone_dir.sh /a\nmkdir -p /a\nmv -f ~/git/../../code/* /a\n",
        ),
        ("dind", None, {}, "chmod +x ~/dind/install_docker.sh\nbash ~/dind/install_docker.sh\n"),
        ("of-this-site", {}, {}, ""),
        ("ssh", {}, {}, ""),
        ("ssh", {"jobssh": True}, {}, f"{SSHD} true\n\n"),
        ("ssh", {"jobssh": "TRUE", "sshbarrier": True}, {}, f"{SSHD} true\n\n~/ssh/sshbarrier.sh \n\n"),
        (
            "ssh", {"jobssh": True, "sshbarrier": True, "sshbarrierTimeout": 60}, {},
            f"{SSHD} true\n\n~/ssh/sshbarrier.sh 60\n\n",
        ),
        ("ssh", {"jobssh": False, "sshbarrier": True}, {}, ""),
        ("ssh", {"jobssh": False, "userssh": {"type": "custom", "value": "k"}}, {}, f"{SSHD} false custom 'k'\n\n"),
        ("ssh", {"jobssh": False, "userssh": {"value": "k"}}, {}, ""),
        ("ssh", {"jobssh": False, "userssh": {"type": "custom", "value": ""}}, {}, ""),
        ("ssh", {"jobssh": False, "userssh": {"type": "custom", "value": 3}}, {}, None),
        ("ssh", {"jobssh": True, "userssh": {"type": "custom"}}, {}, f"{SSHD} true\n\n"),
        ("ssh", {"jobssh": True}, {"text": ALONE}, ""),
        ("ssh", {"jobssh": True, "sshbarrier": False}, {"text": ALONE}, ""),
        ("ssh", {"jobssh": True}, {"text": f"# pai-lsp: platform=ltp\n{ALONE}"}, ""),
        ("ssh", {"jobssh": False, "sshbarrier": False}, {"text": f"# pai-lsp: platform=ltp\n{ALONE}"}, ""),
        (
            "ssh", {"jobssh": True, "sshbarrier": False}, {"text": f"# pai-lsp: platform=ltp\n{ALONE}"},
            f"{SSHD} true\n\n",
        ),
    ],
)  # fmt: skip
def test_the_script_of_a_plugin(name: str, parameters: object, place: dict[str, Any], script: str | None) -> None:
    """None: the plugin fails."""
    text = place.get("text", WITH_GANG)
    where = {key: value for key, value in place.items() if key != "text"}
    found = plugin_scripts(Document(text).job, name, parameters, **where)
    assert (found.pre.replace(f"{HOME}/plugins", "~"), found.post, found.fails) == (
        f"set -o errexit\n{script}" if script else "", "", script is None
    )  # fmt: skip

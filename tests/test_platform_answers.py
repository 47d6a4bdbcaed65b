"""What small modules of `pai_lsp.platform` answer: git's words, local folders, addresses of images, old platforms."""

from __future__ import annotations

from typing import Any

import pytest

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.platform.clone_options import OpenQuoteError, clone_words, is_always_refused, is_refused
from pai_lsp.platform.image_addresses import image_host, image_page, registry_host, without_host
from pai_lsp.platform.local_storage import local_storage_faults
from pai_lsp.platform.platforms import may_be_marked, platform_comment, platform_named
from pai_lsp.platform.programs import foreign_option, hosts_of, launch_of, option_of_no_launcher

NEEDS = "'enableLocalStorage' needs '{}', one absolute path or several with ':' between them"
REFUSED = ("--upload-pack", "-u", "--config", "-c")


@pytest.mark.parametrize(
    ("options", "as_shell", "words"),
    [
        (["--depth 1"], False, [("--depth", 0, 0, 7), ("1", 0, 8, 9)]),
        (["-b  'a b'", "x"], False, [("-b", 0, 0, 2), ("", 0, 3, 3), ("'a", 0, 4, 6), ("b'", 0, 7, 9), ("x", 1, 0, 1)]),
        (["-b  'a b'", "x"], True, [("-b", 0, 0, 0), ("a b", 0, 0, 0), ("x", 1, 0, 0)]),
        (["--branch 'a", "b' # c"], True, [("--branch", 0, 0, 0), ("a b", 1, 0, 0), ("#", 1, 0, 0), ("c", 1, 0, 0)]),
    ],
)
def test_words_that_git_gets(options: list[str], as_shell: bool, words: list[Any]) -> None:
    found = clone_words(options, as_shell=as_shell)
    assert [(one.text, one.option, one.start, one.end) for one in found] == words


@pytest.mark.parametrize(
    ("options", "number"), [(["'a"], 0), (["-q", "'a"], 1), (["'a", "b'", "\\"], 2), (["a", "'b", "c", "d"], 1)]
)
def test_the_option_with_an_open_quote_is_named(options: list[str], number: int) -> None:
    with pytest.raises(OpenQuoteError) as caught:
        clone_words(options, as_shell=True)
    assert caught.value.option == number


@pytest.mark.parametrize(
    ("word", "refused", "always"),
    [
        ("--upload-pack=x", True, True),
        ("--upload_pack", True, False),
        ("--upload-pa", True, False),  # shortened
        ("--up", True, False),
        ("-u", True, True),
        ("-qu", True, False),  # after a letter without a value
        ("-bu", False, False),  # the value of another option
        ("-b", False, False),
        ("config", True, True),  # a value is compared as well
        ("upload", False, False),
        ("--depth=1", False, False),
        ("-", False, False),
        ("", False, False),
    ],
)
def test_options_that_git_python_refuses(word: str, *, refused: bool, always: bool) -> None:
    assert is_refused(word, REFUSED) is refused
    assert is_always_refused(word, REFUSED) is always


@pytest.mark.parametrize(
    ("local", "fault"),
    [
        ({"enabled": True, "hostpath": "/mnt/a-1:/b.c/", "mntpath": "/data:/_"}, None),
        ({"enabled": "true"}, None),
        ({"enabled": False, "hostpath": 3}, None),
        ([], None),
        (
            {"enabled": True, "mntpath": "/a"},
            (
                "MissingMountPathError",
                None,
                NEEDS.format("hostpath"),
            ),
        ),
        (
            {"enabled": True, "hostpath": "/a", "mntpath": ""},
            (
                "MissingMountPathError",
                "mntpath",
                NEEDS.format("mntpath"),
            ),
        ),
        ({"enabled": True, "hostpath": "/a", "mntpath": ["/b"]}, (None, "mntpath", "'mntpath' must be a string")),
        ({"enabled": True, "hostpath": 7, "mntpath": ["/b"]}, (None, "hostpath", "'hostpath' must be a string")),
        (
            {"enabled": True, "hostpath": "/a:/b", "mntpath": "/c"},
            (
                "MountPathMismatchError",
                "mntpath",
                "'hostpath' has 2 paths and 'mntpath' has 1; the numbers must be equal",
            ),
        ),
        (
            {"enabled": True, "hostpath": "/a:/b", "mntpath": "/c:d"},
            ("InvalidPathError", "mntpath", "'d' is not an absolute path of letters, digits, '.', '_' and '-'"),
        ),
        (
            {"enabled": True, "hostpath": "/a:/b/\n", "mntpath": "/c:/d"},
            ("InvalidPathError", "hostpath", "the path '/b/' has a blank or a line end before or after it"),
        ),
    ],
)
def test_local_folders_that_the_server_refuses(local: Any, fault: tuple[str | None, str | None, str] | None) -> None:
    found = [(one.code, one.key, one.message) for one in local_storage_faults(local)]
    assert found == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("address", "host", "rest", "page"),
    [
        ("python", "", "python", "https://hub.docker.com/_/python"),
        ("python:3.11@sha256:0", "", "python:3.11@sha256:0", "https://hub.docker.com/_/python"),
        ("library/python", "", "library/python", "https://hub.docker.com/_/python"),
        ("pytorch/pytorch:2", "", "pytorch/pytorch:2", "https://hub.docker.com/r/pytorch/pytorch"),
        ("docker.io/a/b", "docker.io", "a/b", "https://hub.docker.com/r/a/b"),
        ("ghcr.io/a/b", "ghcr.io", "a/b", ""),
        ("host:5000/a", "host:5000", "a", ""),
        ("localhost/a", "", "localhost/a", ""),
        ("Upper/a", "", "Upper/a", ""),
    ],
)
def test_addresses_of_images(address: str, host: str, rest: str, page: str) -> None:
    assert (image_host(address), without_host(address), image_page(address)) == (host, rest, page)


@pytest.mark.parametrize(
    ("registry", "host"),
    [(" https://Index.docker.io/v1/ ", "index.docker.io"), ("http://a:5000", "a:5000"), ("a.b/c", "a.b"), ("", "")],
)
def test_hosts_of_registries(registry: str, host: str) -> None:
    assert registry_host(registry) == host


def test_names_of_platforms() -> None:
    old, new, newest = platform_named("ltp/1.0"), platform_named("ltp/1.5"), platform_named("ltp")
    assert (old.family, old.title, newest.title) == ("ltp", "LTP 1.0", "LTP")
    assert len(old.changes) < len(new.changes) <= len(newest.changes)
    assert platform_named("openpai").changes == ()
    with pytest.raises(KeyError):
        platform_named("ltp/0.9")


def test_marks_of_a_platform_in_a_text() -> None:
    assert may_be_marked("jobType: inference")
    assert not may_be_marked("type: job")
    found = platform_comment("a: 1 # pai-lsp: platform=ltp # x")
    assert found
    assert found["name"] == "ltp"
    assert platform_comment("a: 1 # platform=ltp") is None


# What is launched: by which implementation (with `!` where no other has it), how many processes, and whether as root
# (`r`) and with more processes than slots (`o`).
LAUNCHES = {
    "mpirun -np 2 -np 4 a": ("Open MPI", 4, ""),
    "mpirun -np 2 a : -np 3 b": ("Open MPI", 5, ""),
    "mpirun -np 0 a": ("Open MPI", None, ""),
    "mpirun -np $N a": ("Open MPI", None, ""),
    "mpirun --oversubscribe a": ("Open MPI!", None, "o"),
    "mpirun --map-by slot:OVERSUBSCRIBE -n 1 a": ("Open MPI", 1, "o"),
    "mpirun --allow-run-as-root a": ("Open MPI!", None, "r"),
    "mpiexec.hydra -n 4 -ppn 2 a": ("Hydra!", 4, ""),
    "horovodrun -np 2 a": ("horovodrun!", 2, ""),
}


@pytest.mark.parametrize(("text", "expected"), LAUNCHES.items())
def test_what_a_launcher_starts(text: str, expected: tuple[str, int | None, str]) -> None:
    found = launch_of(command_lines(read_script(text)).all[0])
    flags = "r" * found.allows_root + "o" * found.oversubscribes
    assert (found.implementation + "!" * found.is_certain, found.processes, flags) == expected


@pytest.mark.parametrize(
    ("hosts", "found"),
    [
        ("a:2,b", [("a", 2, "a", "2"), ("b", None, "b", "b")]),
        ("a,,b:3", [("a", None, "a", "a"), ("b", 3, "b", "3")]),
        ("a:x", None),
        ("$HOSTS", None),
    ],
)
def test_hosts_of_a_launcher(hosts: str, found: list[tuple[str, int | None, str, str]] | None) -> None:
    text = f"mpirun -n 1 -host {hosts} a"
    line = command_lines(read_script(text)).all[0]
    (option,) = launch_of(line).host_lists
    read = hosts_of(option, line)
    spans = [(one.name, one.slots, one.span, one.slots_span) for one in read or ()]
    shown = [(name, slots, *(text[one.start : one.end] for one in places)) for name, slots, *places in spans]
    assert (None if read is None else shown) == found


@pytest.mark.parametrize(
    ("words", "option", "instead"),
    [
        ("--nproc_per_node 2", "--nproc_per_node", ""),
        ("--num_processes=4", "--num_processes", "-np"),
        ("-wwdir /x", "-wwdir", "-wdir"),  # with the dashes that were written
        ("--wwdir /x", "--wwdir", "--wdir"),
        ("--hosstfile f", "--hosstfile", "--hostfile"),
        ("-npp 2", None, ""),  # too short to be sure
        ("-xyzzyx", None, ""),
        ("-np 2", None, ""),
    ],
)
def test_options_that_no_launcher_has(words: str, option: str | None, instead: str) -> None:
    text = f"mpirun {words} a"
    found = launch_of(command_lines(read_script(text)).all[0])
    wrong = option_of_no_launcher(found)
    assert (wrong and (wrong[0], text[wrong[1].start : wrong[1].end], wrong[2])) == (
        option and (option, option, instead)
    )
    assert foreign_option(found) is None

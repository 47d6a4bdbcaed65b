"""What differs between the platforms that read the job protocol: OpenPAI, and those that descend from it.

`Platform` is a list of questions; the defaults are OpenPAI's answers, so that a job for OpenPAI reads no table. The
file of another platform in `schemas/platforms/` has one row for each difference, with its source; docs/platforms.md is
made of the rows. A row's

- `answers` are values for the fields of `Platform`; lists of several rows are joined
- `schema` and `plugins` are JSON Merge Patches (RFC 7396) of schemas/job.schema.json and schemas/plugins.json
- `environment` are more entries of schemas/environment.json
- `since` is the first version of the platform with this difference; without it, all versions have it

A new platform is a new file, and its name in `NAMES`; a new version is its name in `VERSIONS`, and rows.
`make platforms` writes the names wherever else they are needed.
"""

from __future__ import annotations

from functools import cache, cached_property, lru_cache, reduce

from pai_lsp.platform.tables import EnvironmentVariable, Plugin, plugins_in, table
from pai_lsp.source.frozen import dataclass, field, replace
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import Reader
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any

# A name without a version means the newest one.
NAMES = ("openpai", "ltp")
VERSIONS = ("ltp/1.0", "ltp/1.1", "ltp/1.2", "ltp/1.3", "ltp/1.4", "ltp/1.5")
ALL_NAMES = (*NAMES, *VERSIONS)
# A job without any of these words has no mark of another platform, so no table is read for it.
_MARK_WORDS = (
    "jobType", "enableLocalStorage", "forceNodes", "allowAzCopy", "dind", "luciatrainingplatform", "runtime.d/barrier",
)  # fmt: skip
_COMMENT = lazy_pattern(r"#[ \t]*pai-lsp:[ \t]*platform[ \t]*=[ \t]*(?P<name>[^\s#]+)")


@dataclass(frozen=True, eq=False)
class Platform:
    """A platform as answers to what the rules ask.

    name: as users write it, such as `ltp` or `ltp/1.3`. title: its own name. description: two sentences about it.
    reader: the library that the rest-server reads YAML with.
    takes_infinite_integers: whether `.inf` is accepted where an integer or a number is needed.
    checks_mappings: whether the rest-server refuses `ports` and any `taskRoles` that are not mappings.
    node: the major version of Node.js that the rest-server runs on.
    mustache: the major version of the library with which the rest-server fills templates.
    has_user_limits: whether the administrator can set a pattern for images, and limits for users and virtual clusters.
    unasked_registries: the ends of registries that are not asked for an image before the task starts.
    required_parameters: by the value of `jobType`, the parameters that the job must have.
    job_type_reads_strings: the values of `jobType` for which a parameter that is not a string hides the job.
    ssh_without_gang: whether `jobssh: true` with `sshbarrier: false` works without gang allocation.
    privileged_plugins: plugins that work only in a privileged container, so only in `extras`.
    git_splits_as_shell: whether options of the plugin `git` are split as a shell does, not at each blank.
    git_refused_options, git_refused_addresses: what the git client refuses as unsafe; the latter a regular expression.
    git_always_refused_options: those of them that not only its newest versions refuse.
    storage_names_are_strings: whether the init container fails for a `storageConfigNames` other than a list of strings.
    mounts_local_storage, forces_nodes: whether `extras.enableLocalStorage` and `extras.forceNodes` are read.
    shared_memory: of a container that asks for none, in MiB.
    marked_keys, marked_extras: keys of the job and of `extras` that only this platform reads.
    programs: the paths of programs that each container has, for commands to call.
    own_registries: the beginnings of images that are for this platform.
    changes: the rows of the platform's table.
    """

    name: str = "openpai"
    title: str = "OpenPAI"
    description: str = ""
    reader: Reader = Reader.JS_YAML_3
    takes_infinite_integers: bool = True
    checks_mappings: bool = False
    node: int = 10
    mustache: int = 2
    has_user_limits: bool = False
    unasked_registries: tuple[str, ...] = ()
    required_parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    job_type_reads_strings: tuple[str, ...] = ()
    ssh_without_gang: bool = False
    privileged_plugins: tuple[str, ...] = ()
    git_splits_as_shell: bool = False
    git_refused_options: tuple[str, ...] = ()
    git_always_refused_options: tuple[str, ...] = ()
    git_refused_addresses: str = ""
    storage_names_are_strings: bool = False
    mounts_local_storage: bool = False
    forces_nodes: bool = False
    shared_memory: int = 512
    marked_keys: tuple[str, ...] = ()
    marked_extras: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    own_registries: tuple[str, ...] = ()
    changes: tuple[Mapping[str, Any], ...] = ()

    @property
    def family(self) -> str:
        """Its name without a version."""
        return self.name.partition("/")[0]

    def schema_of_job(self, schema: dict[str, Any]) -> dict[str, Any]:
        """OpenPAI's schema of a job with the changes of this platform."""
        return reduce(_merged, self._all("schema"), schema)

    @property
    def plugin_table(self) -> dict[str, Any]:
        """The table of plugins as it is in schemas/plugins.json, with the changes of this platform."""
        return reduce(_merged, self._all("plugins"), table("plugins.json"))

    @cached_property
    def plugins(self) -> Mapping[str, Plugin]:
        """The runtime's plugins by short name."""
        return plugins_in(self.plugin_table)

    @cached_property
    def environment_variables(self) -> tuple[EnvironmentVariable, ...]:
        """The environment variables of the containers; single ones before a family that their name would fit too."""
        rows = (table("environment.json"), *self._all("environment"))
        return tuple(EnvironmentVariable(**entry) for entries in rows for entry in entries)

    def environment_variable(self, name: str) -> EnvironmentVariable | None:
        """The variable, or family, that `name` belongs to; None when the platform sets no such variable."""
        return _variable(self, name)

    def _all(self, key: str) -> list[Any]:
        return [row[key] for row in self.changes if key in row]


OPENPAI = Platform()


@cache
def platform_named(name: str) -> Platform:
    """The platform of that name.

    Raises:
        KeyError: for any other name.
    """
    if name == OPENPAI.name:
        return OPENPAI
    if name not in ALL_NAMES:
        raise KeyError(name)
    family, _, version = name.partition("/")
    document = table(f"platforms/{family}.json")
    rows = [row for row in document["rows"] if not version or _number(row.get("since", "0")) <= _number(version)]
    answers: dict[str, Any] = {}
    for key, value in ((key, value) for row in rows for key, value in row.get("answers", {}).items()):
        answers[key] = (*answers.get(key, ()), *value) if isinstance(value, list) else value
    if "reader" in answers:
        answers["reader"] = Reader(answers["reader"])
    return replace(
        OPENPAI,
        name=name,
        title=f"{document['title']} {version}".rstrip(),
        description=document["description"],
        changes=tuple(rows),
        **answers,
    )


def may_be_marked(text: str) -> bool:
    """Whether a job may have a part that only some platforms read; sure if it is false."""
    return any(word in text for word in _MARK_WORDS)


def _number(version: str) -> tuple[int, ...]:
    """A version that can be compared."""
    return tuple(map(int, version.split(".")))


def platform_comment(text: str) -> re.Match[str] | None:
    """The comment `# pai-lsp: platform=NAME` of a file, with the group `name`; None without one."""
    return _COMMENT.search(text) if "pai-lsp:" in text else None


@lru_cache(maxsize=1024)
def _variable(platform: Platform, name: str) -> EnvironmentVariable | None:
    return next((one for one in platform.environment_variables if one.match(name) is not None), None)


def _merged(target: Any, patch: Any) -> Any:
    """The target with a JSON Merge Patch applied (RFC 7396, section 2)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result

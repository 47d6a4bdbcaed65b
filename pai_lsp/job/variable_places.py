"""Where commands read the platform's environment variables, and what each one means for the job.

A mention is one use of a `PAI_...` name in a script that neither sets the variable itself nor provides for its absence.
"""

from __future__ import annotations

from functools import cached_property

from pai_lsp.embedded.command_lines import command_lines
from pai_lsp.embedded.shell import read_script
from pai_lsp.platform.tables import EnvironmentVariable, converted_role_name
from pai_lsp.source.content import MappedText, joined_lines
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pai_lsp.embedded.command_lines import Arguments, CommandLine, CommandLines
    from pai_lsp.embedded.shell_script import Script, VariableUse, Word
    from pai_lsp.job.parts import TaskRole
    from pai_lsp.job.tree import JobTree
    from pai_lsp.platform.platforms import Platform
    from pai_lsp.source.nodes import Scalar
    from pai_lsp.source.text import Span

# Every task has these ports. Source: rest-server, models/v2/job/k8s.js.
RESERVED_PORTS = ("ssh", "http")


@dataclass(frozen=True, eq=False)
class RoleSpellings:
    """The job's task roles by name, in the two spellings that variables use."""

    roles: tuple[TaskRole, ...]

    @cached_property
    def raw(self) -> dict[str, TaskRole]:
        """As they are written in the job."""
        return {role.name: role for role in self.roles}

    @cached_property
    def converted(self) -> dict[str, TaskRole]:
        """As the runtime knows them."""
        return {converted_role_name(role.name): role for role in self.roles}

    def of(self, variable: EnvironmentVariable) -> dict[str, TaskRole]:
        """In the spelling that a family of variables uses."""
        return self.converted if variable.role_spelling == "converted" else self.raw


@dataclass(frozen=True, eq=False)
class ScriptPlace:
    """A script in the file: a role's commands (with `role`), or the commands of a callback.

    source: the text of the whole file. parts: the scalars that make up the script.
    """

    source: str
    spellings: RoleSpellings
    script: Script
    parts: tuple[Scalar, ...]
    role: TaskRole | None = None

    @cached_property
    def mapped_text(self) -> MappedText:
        """The script's text with its places in the file; costly, so computed only when something is found."""
        return joined_lines(self.source, self.parts)

    def span(self, span: Span) -> Span:
        """The place in the file of a place in the script."""
        return self.mapped_text.span(span.start, span.end)

    def inner(self, word: Word) -> Span:
        """The place in the script of a word without the quotes around it."""
        return self.script.inner(word.span)

    def written(self, span: Span) -> str:
        """What the script has at a place."""
        return self.script.text[span.start : span.end]

    @cached_property
    def lines(self) -> CommandLines:
        """Its command lines."""
        return command_lines(self.script)

    def mentions(self, part: str, before: int | None = None) -> bool:
        """Whether a word of its commands has a text, as `CommandLines.mentions`."""
        return self.lines.mentions(part, before)

    @cached_property
    def arguments(self) -> dict[tuple[CommandLine, str, int], Arguments]:
        """The words of its command lines that have been read, by line, program and number of the first word."""
        return {}


@dataclass(frozen=True, eq=False)
class Mention:
    """A use of a `PAI_...` variable, and the entry of the platform's table that its name fits."""

    place: ScriptPlace
    use: VariableUse
    variable: EnvironmentVariable | None

    @property
    def name(self) -> str:
        """The variable's name."""
        return self.use.name

    @cached_property
    def span(self) -> Span:
        """The place of the name in the file."""
        return self.place.span(self.use.name_span)

    @cached_property
    def parts(self) -> dict[str, str]:
        """The role, index and label in the name."""
        return dict(self.variable.match(self.name) or {}) if self.variable else {}

    @cached_property
    def named_role(self) -> TaskRole | None:
        """The role in the name, if it is spelled as the variable requires."""
        role = self.parts.get("role")
        return self.place.spellings.of(self.variable).get(role) if self.variable and role else None

    @property
    def right_role_name(self) -> str | None:
        """The role in the name, in any spelling, respelled as the variable requires; None if there is no such role."""
        role = converted_role_name(self.parts.get("role", ""))
        meant = self.place.spellings.converted.get(role) if role else None
        if meant is None or self.variable is None:
            return None
        return role if self.variable.role_spelling == "converted" else meant.name


def role_scripts(job: JobTree) -> tuple[ScriptPlace, ...]:
    """What the task roles run."""
    spellings = RoleSpellings(job.task_roles)
    return tuple(
        ScriptPlace(job.text, spellings, job.scripts[role], job.command_parts(role), role) for role in job.task_roles
    )


def callback_scripts(job: JobTree, parts: Sequence[tuple[Scalar, ...]]) -> Iterator[ScriptPlace]:
    """What callbacks run, each list of commands a script of its own."""
    spellings = RoleSpellings(job.task_roles)
    for scalars in parts:
        script = read_script("\n".join(scalar.text.strip() for scalar in scalars))
        yield ScriptPlace(job.text, spellings, script, scalars)


def mentions(places: Iterable[ScriptPlace], platform: Platform) -> Iterator[Mention]:
    """The uses of `PAI_...` variables, in the order in which they are written."""
    for place in places:
        script = place.script
        for use in script.uses:
            name = use.name
            if name.startswith("PAI_") and not script.provides_for(name):
                yield Mention(place, use, platform.environment_variable(name))


def declared_ports(role: TaskRole) -> tuple[str, ...] | None:
    """The labels of the role's ports; None where they cannot be read."""
    ports = role.resources.get("ports") if role.resources else None
    if role.resources is None or (ports is not None and not isinstance(ports, Mapping)):
        return None
    return (*(entry.name for entry in role.port_labels), *RESERVED_PORTS)


def platform_names(job: JobTree) -> list[str]:
    """The variables that this job's tasks have, families with the first task of each role."""
    return list(dict.fromkeys(name for name, _, _ in task_variables(job)))


def task_variables(
    job: JobTree, own: TaskRole | None = None, most_tasks: int = 1
) -> Iterator[tuple[str, EnvironmentVariable, TaskRole | None]]:
    """The variables that this job's tasks have, with the role that each is about.

    own: the only role whose own variables are wanted; None for those of all roles.
    most_tasks: of how many tasks of a role at most.
    """
    spellings = RoleSpellings(job.task_roles)
    for variable in job.platform.environment_variables:
        if variable.extra and not job.has_extra(variable.extra):
            continue
        if variable.status in {"removed", "internal"} or variable.available in {"init", "nowhere"}:
            continue
        if "{" not in variable.name:
            yield variable.name, variable, own
            continue
        for spelt, role in spellings.of(variable).items():
            if "{role}" not in variable.name and own not in {None, role}:
                continue
            labels = (declared_ports(role) or ()) if "{label}" in variable.name else ("",)
            tasks = range(min(role.instances, most_tasks)) if "{index}" in variable.name else range(1)
            for task in tasks:
                for label in dict.fromkeys(labels):
                    name = variable.name.replace("{role}", spelt).replace("{index}", str(task))
                    yield name.replace("{label}", label), variable, role

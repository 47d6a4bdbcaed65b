"""A job with everything that follows from its parts: each answer is computed once, when it is first asked for."""

from __future__ import annotations

from functools import cached_property

from pai_lsp.job.as_meant import emptied_role, misplaced_role_keys, root_as_meant
from pai_lsp.job.clear_secrets import ClearSecret, clear_secrets
from pai_lsp.job.definition import Definition
from pai_lsp.job.require_graph import RequireGraph, require_graph
from pai_lsp.job.template_answers import PathOutcome, TemplateAnswer, template_answers
from pai_lsp.job.template_uses import TemplateUse, template_uses
from pai_lsp.job.tree import JobTree
from pai_lsp.job.uses import PluginUse, plugin_uses, roles_running, used_definitions
from pai_lsp.job.variable_places import Mention, ScriptPlace, mentions, role_scripts
from pai_lsp.platform.secrets_section import job_syntax
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, value_at
from pai_lsp.source.steps import counted
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any, TypeVar

    from pai_lsp.job.hidden import Hidden
    from pai_lsp.job.parts import PluginEntry, TaskRole
    from pai_lsp.source.nodes import Entry, Node

    _Answer = TypeVar("_Answer")


class Job(JobTree):
    """A job file with its require graph, the uses of its prerequisites and plugins, its templates and its secrets."""

    @property
    def as_meant(self) -> Job:
        """The job with misspelled and misplaced keys read as they are meant; itself without any."""
        return self._meant or self

    @cached_property
    def _meant(self) -> Job | None:
        """Another job, or None: a job that held itself would be garbage for the collector."""
        root = root_as_meant(self) if self.structure_errors and not self.is_catalog else None
        if root is None:
            return None
        return replace(self, meant_root=root, known_errors=self.structure_errors)

    @cached_property
    def misplaced_role_keys(self) -> tuple[Entry, ...]:
        """The keys of a task role that are written directly under `taskRoles`; see as_meant.py."""
        has_errors = self.is_catalog or self.structure_errors
        return misplaced_role_keys(self._written_roles) if has_errors else ()

    @cached_property
    def misread_roles(self) -> frozenset[str]:
        """The names under `taskRoles` that are not those of task roles as they are meant."""
        empty = emptied_role(self._written_roles, self.misplaced_role_keys)
        return frozenset(entry.name for entry in (*self.misplaced_role_keys, empty) if entry)

    @property
    def _written_roles(self) -> Node | None:
        return value_at(self.content, "taskRoles")

    @cached_property
    def require_graph(self) -> RequireGraph:
        """Which prerequisite requires which, through the catalog too."""
        return require_graph(self)

    @cached_property
    def _used_definitions(self) -> frozenset[Mapping]:
        return used_definitions(self, self.require_graph)

    def is_used(self, definition: Definition) -> bool:
        """Whether a task role lists or names a definition, or a used one requires it."""
        return definition.node in self._used_definitions

    @cached_property
    def _roles_running(self) -> dict[Mapping, tuple[TaskRole, ...]]:
        return roles_running(self, self.require_graph)

    def roles_running(self, definition: Definition) -> tuple[TaskRole, ...]:
        """The roles that list a definition, or list one that requires it directly or indirectly."""
        return self._roles_running.get(definition.node, ())

    @cached_property
    def plugin_uses(self) -> tuple[PluginUse, ...]:
        """Every use of one of the released runtime's plugins."""
        return counted(plugin_uses(self))

    def uses_of_plugin(self, name: str) -> Iterator[PluginUse]:
        """Every use of one of the released runtime's plugins, by its short name."""
        return (use for use in self.plugin_uses if use.plugin.name == name)

    def roles_of(self, use: PluginUse) -> tuple[TaskRole, ...]:
        """The task roles that a plugin acts for."""
        if isinstance(use.owner, Definition):
            return self.roles_listing(use.owner)
        return tuple(role for role in self.task_roles if use.owner.acts_for(converted_role_name(role.name)))

    @cached_property
    def skipped_plugins(self) -> tuple[PluginEntry, ...]:
        """The entries under `extras` whose `taskroles` selects no role of the job: the runtime never reads them."""
        names = [converted_role_name(role.name) for role in self.task_roles]
        filtered = (entry for entry in self.plugins if names and entry.selects_roles)
        return tuple(entry for entry in filtered if not any(map(entry.acts_for, names)))

    @cached_property
    def role_scripts(self) -> tuple[ScriptPlace, ...]:
        """What the task roles run, in their order."""
        return counted(role_scripts(self))

    @cached_property
    def role_mentions(self) -> tuple[Mention, ...]:
        """The uses of `PAI_...` variables in what the task roles run, in the order in which they are written."""
        return counted(mentions(self.role_scripts, self.platform))

    @cached_property
    def clear_secrets(self) -> tuple[ClearSecret, ...]:
        """What looks like a password, token or key outside of `secrets`."""
        return counted(clear_secrets(self))

    @cached_property
    def hidden(self) -> Hidden:
        """The texts and places that no output about this job may show."""
        from pai_lsp.job.hidden import hidden_values  # noqa: PLC0415 - only for output about findings

        return hidden_values(self, lambda: self.clear_secrets)

    @cached_property
    def template_uses(self) -> tuple[TemplateUse, ...]:
        """Every `<% %>` of the file, with the component that fills it."""
        return counted(template_uses(self))

    @cached_property
    def template_answers(self) -> tuple[TemplateAnswer, ...]:
        """What each `<% %>` that is filled finds."""
        return counted(template_answers(self, self.template_uses, self.roles_running))

    @cached_property
    def _answers_by_outcome(self) -> dict[PathOutcome, list[TemplateAnswer]]:
        found: dict[PathOutcome, list[TemplateAnswer]] = {}
        for answer in self.template_answers:
            found.setdefault(answer.outcome, []).append(answer)
        return found

    @property
    def template_outcomes(self) -> Collection[PathOutcome]:
        """What the templates that are filled come to, each outcome once."""
        return self._answers_by_outcome.keys()

    def answers_with(self, outcome: PathOutcome) -> Iterator[TemplateAnswer]:
        """The answers of one outcome."""
        return iter(self._answers_by_outcome.get(outcome, ()))

    def of_text(self, text: str) -> Job:
        """The job of another text, for the same platform and cluster."""
        is_same = text == self.text
        syntax = self.syntax if is_same else job_syntax(text, self.platform.reader)
        errors = self.known_errors if is_same and not self.is_catalog else None
        return replace(self, syntax=syntax, is_catalog=False, meant_root=None, known_errors=errors)

    def once(self, compute: Callable[[Job], _Answer]) -> _Answer:
        """What `compute` gives for this job, computed at the first call: answers that only packages above know."""
        computed = self._computed
        if compute in computed:
            return computed[compute]  # type: ignore[no-any-return]  # what the same function gave before
        answer = computed[compute] = compute(self)
        return answer

    @cached_property
    def _computed(self) -> dict[Callable[[Job], Any], Any]:
        return {}

    def roles_listing(self, definition: Definition) -> tuple[TaskRole, ...]:
        """The roles whose `prerequisites` name this definition itself."""
        return tuple(self._roles_listing.get(definition, ()))

    @cached_property
    def _roles_listing(self) -> dict[Definition, dict[TaskRole, None]]:
        found: dict[Definition, dict[TaskRole, None]] = {}
        for role in self.task_roles:
            for reference in role.prerequisites:
                if (listed := self.definitions_by_name.get(reference.name)) is not None:
                    found.setdefault(listed, {})[role] = None
        return found

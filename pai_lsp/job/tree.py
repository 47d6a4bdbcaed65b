"""The parts of a job: what each section of the file holds, and what a plain name in it means.

Everything is read leniently: a part of the wrong shape is absent here, and a structure rule reports it. Nothing is
judged here. Definitions outside the job are known through `Lookup`, which never waits and never opens a file.
What follows from the parts (who requires whom, what a template finds, what is hidden) is computed by the other modules
of this package, and `Job` in job.py keeps their answers.
Sources of what a key means: schemas/job.schema.json; the extended protocol's keys: docs/protocol.md.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.template import OPENING, TemplateFault, TemplateTag, tags
from pai_lsp.job.definition import TYPED_FIELDS, Definition, Origin, Reference, read_definitions
from pai_lsp.job.lookup import Lookup, LookupAnswer, LookupState, NoLookup
from pai_lsp.job.parts import Deployment, PluginEntry, TaskRole
from pai_lsp.platform.job_schema import key_order, structure_errors
from pai_lsp.platform.platforms import OPENPAI, Platform
from pai_lsp.platform.tables import RUNTIME_PLUGIN, as_name
from pai_lsp.source.content import MappedText, joined_lines
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import (
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    Syntax,
    entries_of,
    entry_at,
    if_mapping,
    items_of,
    nodes_along,
    plain_value,
    value_at,
)
from pai_lsp.source.scalar import Reader
from pai_lsp.source.spelling import free_names
from pai_lsp.source.steps import counted
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.embedded.shell_script import Script
    from pai_lsp.platform.job_schema import Kind
    from pai_lsp.platform.structure_errors import Path, StructureError


_PROTOTYPE = "__proto__"


@dataclass(frozen=True, eq=False)
class JobTree:
    """A job file (or, when `is_catalog`, a file of definitions), read once and never changed.

    site_plugins: names of runtime plugins that the site has added, without the prefix.
    meant_root: the root to read in place of the tree's, see as_meant.py; structure errors are still those of the tree.
    known_errors: the structure errors of the tree, if they have been found.
    platform: the platform that the job is for.
    cluster: the facts of the cluster that the job is for, as in `Settings`; only rules about that cluster read them.
    """

    syntax: Syntax
    site_plugins: frozenset[str] = frozenset()
    lookup: Lookup = NoLookup()
    is_catalog: bool = False
    meant_root: Mapping | None = None
    known_errors: tuple[StructureError, ...] | None = None
    platform: Platform = OPENPAI
    cluster: object | None = None

    @property
    def text(self) -> str:
        """The file's text."""
        return self.syntax.text

    @cached_property
    def root(self) -> Mapping | None:
        """The job's mapping; None for an empty file, a file of definitions, or anything else."""
        root = self.meant_root or self.syntax.root
        return root if isinstance(root, Mapping) and not self.is_catalog else None

    def section(self, name: str) -> Entry | None:
        """A top-level key with its value."""
        return self.root.entry(name) if self.root else None

    def mapping(self, name: str) -> Mapping | None:
        """The value of a top-level key that holds a mapping."""
        return if_mapping(value_at(self.root, name))

    @cached_property
    def plain(self) -> Any:
        """The whole file as the rest-server's value."""
        return plain_value(self.content)

    @cached_property
    def content(self) -> Node | None:
        """The whole file: the job, or the definitions, those of several documents as one list."""
        documents = self.syntax.documents
        if not self.is_catalog or len(documents) < 2:
            return self.syntax.root
        items = [item for node in documents for item in (node.items if isinstance(node, Sequence) else (node,)) if item]
        return Sequence(Span(0, len(self.text)), tuple(items))

    @cached_property
    def structure_errors(self) -> tuple[StructureError, ...]:
        """What is wrong with the shape of the file; paths lead through `content`."""
        if self.known_errors is not None:
            return self.known_errors
        found = structure_errors(self.plain, self.schema_kind, self.platform)
        return tuple(one for one in found if _PROTOTYPE not in (*one.path, one.key) or self._is_refused(one))

    def _is_refused(self, error: StructureError) -> bool:
        """Whether the server refuses a key named `__proto__`, or what is wrong with its value.

        js-yaml 3 makes a prototype of its value, whose keys count as those of the mapping; they are never merged. A
        value without keys is lost.
        """
        if self.syntax.reader is not Reader.JS_YAML_3:
            return error.kind != "invalid-name"
        is_key = _PROTOTYPE not in error.path
        if is_key and not error.kind.endswith("-key"):
            return True
        path = error.path if is_key else error.path[: error.path.index(_PROTOTYPE)]
        holder = (self.content, *nodes_along(self.content, path))[-1]
        own = holder.own(_PROTOTYPE) if isinstance(holder, Mapping) else None
        value = own.value if own else None
        known = key_order(path, self.schema_kind, self.platform)
        return any(one.name not in known for one in entries_of(value)) or bool(items_of(value))

    @cached_property
    def expected_keys(self) -> Counter[tuple[Path, tuple[str, ...]]]:
        """How many unknown keys of each mapping look most like each of the keys that it may have."""
        return Counter((error.path, error.expected[:1]) for error in self.structure_errors)

    @property
    def schema_kind(self) -> Kind:
        """Which schema the file follows."""
        return "definition" if self.is_catalog else "job"

    @cached_property
    def prerequisites(self) -> tuple[Definition, ...]:
        """The definitions under `prerequisites`."""
        node = value_at(self.root, "prerequisites")
        return counted(read_definitions(node, Origin.JOB)) if isinstance(node, Sequence) else ()

    @cached_property
    def reference_prerequisites(self) -> tuple[Definition, ...]:
        """The definitions under `extras.reference_prerequisites`."""
        node = value_at(self.extras, "reference_prerequisites")
        return read_definitions(node, Origin.EXTRAS) if isinstance(node, Sequence) else ()

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in the file, those of the job first."""
        if self.is_catalog:
            documents = self.syntax.documents
            return counted(one for node in documents for one in read_definitions(node, Origin.CATALOG))
        return counted(self.prerequisites + self.reference_prerequisites)

    def free_name(self, wanted: str) -> str:
        """A name near the wanted one that no prerequisite has, whatever its type."""
        return next(self.free_names(wanted))

    def free_names(self, wanted: str) -> Iterator[str]:
        """As `free_name`, for several prerequisites that want the same name."""
        return free_names(as_name(wanted, "prerequisite"), self._taken_names)

    @cached_property
    def _taken_names(self) -> frozenset[str]:
        return frozenset(one.name for one in self.definitions)

    @cached_property
    def definitions_by_name(self) -> dict[str, Definition]:
        """The definition that a plain name finds: the job's, else one of `extras`; of several the last.

        Source: openpai-runtime, src/init.d/initializer.py: a dict over all prerequisites.
        """
        in_file = self.definitions if self.is_catalog else (*self.reference_prerequisites, *self.prerequisites)
        return {definition.name: definition for definition in in_file if definition.name}

    @cached_property
    def chosen_images(self) -> tuple[Definition, ...]:
        """The docker images that task roles run in."""
        references = (role.typed_references.get("dockerImage") for role in self.task_roles)
        chosen = {reference.name for reference in references if reference}
        return tuple(one for one in self.prerequisites if one.type == "dockerimage" and one.name in chosen)

    def find_typed(self, kind: str, name: str) -> Definition | None:
        """The prerequisite of that type and name; the first of several, with which the rest-server refuses the job."""
        return self._typed.get((kind, name))

    def named_by(self, role: TaskRole, field: str) -> Definition | None:
        """The prerequisite that a field of a task role names."""
        reference = role.typed_references.get(field)
        return self.find_typed(TYPED_FIELDS[field], reference.name) if reference else None

    def image_of(self, role: TaskRole) -> Definition | None:
        """The prerequisite that is the docker image of a task role."""
        return self.named_by(role, "dockerImage")

    @cached_property
    def _typed(self) -> dict[tuple[str, str], Definition]:
        return {(definition.type, definition.name): definition for definition in reversed(self.prerequisites)}

    def may_define(self, name: str) -> bool:
        """Whether a mistake in the definitions, which has a finding of its own, may hide the definition of a name."""
        entry = self.section("prerequisites")
        if entry is not None:
            if not isinstance(entry.value, Sequence):
                return True
            names = (value_at(item, "name") for item in entry.value.items)
            if not all(isinstance(one, Scalar) and one.is_string and one.text for one in names):
                return True
        if not self.syntax.problems:
            return False
        return re.search(rf"\bname:[ \t]*['\"]?{re.escape(name)}['\"]?[ \t]*(?:[\r\n#,}}]|\Z)", self.text) is not None

    def resolve(self, name: str) -> LookupAnswer:
        """What a prerequisite reference means: a definition of this file, or what the catalog knows."""
        if "://" in name:
            return self.lookup.find(name)
        definition = self.definitions_by_name.get(name)
        return LookupAnswer(LookupState.FOUND, (definition,)) if definition else LookupAnswer(LookupState.ABSENT)

    @cached_property
    def parameters(self) -> dict[str, Entry]:
        """The job's parameters by name."""
        return {entry.name: entry for entry in entries_of(self.mapping("parameters"))}

    @cached_property
    def secrets(self) -> dict[str, Entry]:
        """The job's secrets by name; their values must never be shown."""
        return {entry.name: entry for entry in entries_of(self.mapping("secrets"))}

    @cached_property
    def task_roles(self) -> tuple[TaskRole, ...]:
        """The task roles, in written order."""
        return counted(TaskRole(entry) for entry in entries_of(self.mapping("taskRoles")))

    @property
    def listed_references(self) -> list[Reference]:
        """What the lists `prerequisites` of task roles and `require` of definitions name."""
        required = (one.reference for definition in self.definitions for one in definition.requirements)
        return [*(reference for role in self.task_roles for reference in role.prerequisites), *required]

    @cached_property
    def task_roles_by_name(self) -> dict[str, TaskRole]:
        """The task roles by name."""
        return {role.name: role for role in self.task_roles}

    @cached_property
    def deployments(self) -> tuple[Deployment, ...]:
        """The deployments, in written order."""
        items = items_of(value_at(self.root, "deployments"))
        return tuple(Deployment(item) for item in items if isinstance(item, Mapping))

    @cached_property
    def default_deployment_reference(self) -> Reference | None:
        """What `defaults.deployment` names."""
        node = value_at(self.mapping("defaults"), "deployment")
        return Reference(node.text, node) if isinstance(node, Scalar) and node.text else None

    @cached_property
    def default_deployment(self) -> Deployment | None:
        """The deployment whose commands are put around the roles' own."""
        reference = self.default_deployment_reference
        return next((d for d in self.deployments if reference and d.name == reference.name), None)

    @property
    def extras(self) -> Mapping | None:
        """The mapping under `extras`."""
        return self.mapping("extras")

    def extras_entry(self, name: str) -> Entry | None:
        """A key of `extras` with its value."""
        return entry_at(self.extras, name)

    def has_extra(self, name: str) -> bool:
        """Whether a key of `extras` is the boolean `true`."""
        node = value_at(self.extras, name)
        return isinstance(node, Scalar) and node.value is True

    @property
    def has_gang_allocation(self) -> bool:
        """Whether the tasks wait for one another. Source: rest-server, models/v2/job/k8s.js (`=== false`)."""
        gang = value_at(self.extras, "gangAllocation")
        return not isinstance(gang, Scalar) or gang.value is not False

    @property
    def storages(self) -> tuple[Node, ...]:
        """The items of `extras.storages`."""
        return items_of(value_at(self.extras, "storages"))

    @property
    def hived(self) -> Mapping | None:
        """The mapping under `extras.hivedScheduler`."""
        return if_mapping(value_at(self.extras, "hivedScheduler"))

    @property
    def hived_role_entries(self) -> tuple[Entry, ...]:
        """The entries of each task role for HiveD, by its name."""
        return entries_of(value_at(self.hived, "taskRoles"))

    @cached_property
    def plugins(self) -> tuple[PluginEntry, ...]:
        """The runtime plugins under `extras`."""
        items = items_of(value_at(self.extras, RUNTIME_PLUGIN))
        return counted(PluginEntry(item) for item in items if isinstance(item, Mapping))

    def command_parts(self, role: TaskRole) -> tuple[Scalar, ...]:
        """The scalars that make up what a role runs: its commands with those of the default deployment around them.

        Source: rest-server, middlewares/v2/protocol.js, protocolRender.
        """
        deployment = self.default_deployment
        if deployment is None:
            return role.commands
        return (
            *deployment.commands(role.name, "preCommands"),
            *role.commands,
            *deployment.commands(role.name, "postCommands"),
        )

    def command_text(self, role: TaskRole) -> MappedText:
        """What a role runs, before templates are filled: each command trimmed, joined by line ends."""
        return joined_lines(self.text, self.command_parts(role))

    @cached_property
    def scripts(self) -> dict[TaskRole, Script]:
        """Each role's `command_text` as bash reads it; places in it are found in the file by `command_text`.

        By role and not by name: in a file with a duplicate key two roles have the same name.
        """
        return {role: read_script(text.text) for role, text in self._command_texts.items()}

    @cached_property
    def _command_texts(self) -> dict[TaskRole, MappedText]:
        return {role: self.command_text(role) for role in self.task_roles}

    @cached_property
    def command_templates(self) -> dict[str, tuple[MappedText, tuple[TemplateTag, ...], TemplateFault | None]]:
        """By role: its text, its tags and the fault that would stop the rest-server; only roles that have a `<%`."""
        found: dict[str, tuple[MappedText, tuple[TemplateTag, ...], TemplateFault | None]] = {}
        for role, text in self._command_texts.items():
            if OPENING in text.text:
                found[role.name] = (text, *tags(text.text))
        return found

"""Rules about `extras.hivedScheduler`, as the rest-server of a cluster with HiveD reads it.

On a cluster without HiveD the section is ignored. Data of the cluster (SKU names, quotas) is not known and not checked.
Facts: rest-server, config/v2/hived.js and middlewares/v2/hived.js.
"""

from __future__ import annotations

from functools import partial

from pai_lsp.embedded.server_rendering import OBJECT_PROTOTYPE_NAMES
from pai_lsp.findings.diagnostic import HIVED, Consequence, Finding, Related, Severity, Stage, rule
from pai_lsp.findings.fixes import all_of, choice_fixes, first_of, fix_of, near_name_fixes, quote_fix
from pai_lsp.job.definition import name_span
from pai_lsp.job.parts import HIVED_PRIORITIES
from pai_lsp.platform.job_schema import key_order
from pai_lsp.rules.plugins.plugin_entries import misspelt, misspelt_keys
from pai_lsp.source.edits import remove_entry
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping, Node, Scalar, Sequence, entries_of, entry_at, value_at
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.job.job import Job

_SECTION = ("extras", "hivedScheduler")
_TEXT_KEYS = frozenset({"skuType", "pinnedCellId", "affinityGroupName"})
_hived_rule = partial(rule, stage=Stage.SERVER, about=("hivedScheduler",), scheduler=HIVED)


@_hived_rule(Severity.ERROR)
def hived_priority_invalid(job: Job) -> Iterator[Finding]:
    """HiveD does not know the priority of the job.

    The priority must be `prod`, `test` or `oppo`. For any other value, even `crit`, which the protocol mentions, the
    rest-server of a cluster with HiveD refuses the job. The default is `test`.
    Source: rest-server, config/v2/hived.js.

        extras:
          hivedScheduler:
            jobPriorityClass: high
            #                 ^^^^ error

    Good:

        extras:
          hivedScheduler:
            jobPriorityClass: prod
    """
    entry = job.hived.entry("jobPriorityClass") if job.hived else None
    if entry is None or (isinstance(entry.value, Scalar) and entry.value.value in HIVED_PRIORITIES):
        return
    choices = "'prod', 'test' or 'oppo'"
    if not isinstance(entry.value, Scalar) or not entry.value.text:
        yield Finding(entry.place, f"'jobPriorityClass' must be {choices}")
        return
    span = name_span(entry.value)
    near = near_name_fixes(span, entry.value.text, HIVED_PRIORITIES)
    fixes = first_of(near, choice_fixes(span, tuple(HIVED_PRIORITIES)))
    yield Finding(span, f"'{entry.value.text}' is not a HiveD priority; expected {choices}", fixes)


@_hived_rule(Severity.ERROR)
def hived_wrong_type(job: Job) -> Iterator[Finding]:
    """A value in the HiveD settings has the wrong type.

    `hivedScheduler`, its `taskRoles` and each role in it must be mappings, `taskRoles` with at least one role;
    `skuType`, `pinnedCellId` and `affinityGroupName` must be strings or null. Otherwise the rest-server of a cluster
    with HiveD refuses the job. An empty list, null or a number as `taskRoles` has no effect, which is a warning.
    Source: rest-server, config/v2/hived.js.

        extras:
          hivedScheduler:
            taskRoles:
              worker:
                skuType: 80
                #        ^^ error

    Good:

        extras:
          hivedScheduler:
            taskRoles:
              worker:
                skuType: "80"
    """
    scheduler = job.extras_entry("hivedScheduler")
    if scheduler is not None and not isinstance(scheduler.value, Mapping):
        yield Finding(scheduler.place, "'hivedScheduler' must be a mapping")
    roles = entry_at(scheduler.value, "taskRoles") if scheduler else None
    if roles is not None and (not isinstance(roles.value, Mapping) or not roles.value.entries):
        found = Finding(roles.place, "'taskRoles' must be a mapping with at least one task role")
        yield replace(found, severity=Severity.WARNING) if _has_no_roles(roles.value) else found
    for entry in job.hived_role_entries:
        if not isinstance(entry.value, Mapping):
            yield Finding(entry.place, f"the HiveD settings of '{entry.name}' must be a mapping")
        for setting in entries_of(entry.value):
            value = setting.value
            is_text = isinstance(value, Scalar) and (value.value is None or isinstance(value.value, str))
            if setting.name in _TEXT_KEYS and not is_text:
                fixes = quote_fix(value) if isinstance(value, Scalar) and value.tag is None else ()
                yield Finding(setting.place, f"'{setting.name}' must be a string", fixes)


def _has_no_roles(roles: Node) -> bool:
    """Whether JavaScript finds no task role in `taskRoles`, and the schema does not ask for one."""
    if isinstance(roles, Scalar):
        return not isinstance(roles.value, str) or not roles.value
    return isinstance(roles, Sequence) and not roles.items


@rule(Severity.WARNING, stage=Stage.SERVER, consequence=Consequence.IGNORED, about=("extras",), scheduler=HIVED)
def hived_key_misspelled(job: Job) -> Iterator[Finding]:
    """A key of the HiveD settings is misspelled.

    `extras` may contain any key, so the job is not refused: it runs with the default priority on any SKU. Old protocol
    documents have `hivedscheduler`, which the rest-server ignores.
    Source: rest-server, middlewares/v2/hived.js (`extras.hivedScheduler`); openpai, issue 5419.

        extras:
          hivedscheduler:
          #^^^^^^^^^^^^^ warning
            jobPriorityClass: prod

    Good:

        extras:
          hivedScheduler:
            jobPriorityClass: prod
    """
    has_section = job.extras_entry("hivedScheduler") is not None
    for entry in job.extras.effective_entries() if job.extras else ():
        bare = "".join(filter(str.isalnum, entry.name.lower()))
        if entry.name != "hivedScheduler" and bare in {"hivedscheduler", "hived"}:
            yield misspelt(entry, "hivedScheduler", is_free=not has_section)
    if job.hived is not None:
        of_job = key_order(_SECTION, platform=job.platform)
        yield from misspelt_keys(job.hived, of_job)
        for entry in job.hived_role_entries:
            if isinstance(entry.value, Mapping):
                yield from misspelt_keys(entry.value, (*key_order((*_SECTION, "taskRoles", "*")), *of_job))


@_hived_rule(Severity.ERROR)
def hived_sku_and_pinned(job: Job) -> Iterator[Finding]:
    """A task role has both `skuType` and `pinnedCellId`.

    The rest-server of a cluster with HiveD refuses the job: "... has both skuType and pinnedCellId, only one is
    allowed."
    Source: rest-server, middlewares/v2/hived.js.

        extras:
          hivedScheduler:
            taskRoles:
              worker:
                skuType: K80
                pinnedCellId: cell-1
                #^^^^^^^^^^^ error

    Good:

        extras:
          hivedScheduler:
            taskRoles:
              worker:
                pinnedCellId: cell-1
    """
    for entry in job.hived_role_entries:
        if not isinstance(entry.value, Mapping):
            continue
        sku, pinned = entry.value.entry("skuType"), entry.value.entry("pinnedCellId")
        if sku and pinned and not _is_null(sku.value) and not _is_null(pinned.value):
            mapping, both = entry.value, (sku, pinned)
            removals = (fix_of(f"Remove '{one.name}'", remove_entry, job.text, mapping, one) for one in both)
            message = f"'{entry.name}' has both 'skuType' and 'pinnedCellId'; HiveD accepts only one"
            yield Finding(pinned.key.span, message, all_of(*removals), (Related(sku.key.span, "the SKU type"),))


@_hived_rule(Severity.ERROR)
def hived_affinity_inconsistent(job: Job) -> Iterator[Finding]:
    """The task roles of one affinity group have different SKUs.

    All task roles of a group must have the same `skuType` and `pinnedCellId`. The rest-server of a cluster with HiveD
    refuses the job: "AffinityGroup ... has inconsistent skuType or pinnedCellId." It does so, too, for a group named
    like something that every object of JavaScript has, such as `constructor`.
    Source: rest-server, middlewares/v2/hived.js.

        extras:
          hivedScheduler:
            taskRoles:
              ps: {skuType: CPU, affinityGroupName: near}
              worker: {skuType: K80, affinityGroupName: near}
              #                                         ^^^^ error

    Good:

        extras:
          hivedScheduler:
            taskRoles:
              ps: {skuType: K80, affinityGroupName: near}
              worker: {skuType: K80, affinityGroupName: near}
    """
    first: dict[str, tuple[tuple[str | None, ...], Scalar]] = {}
    for entry in job.hived_role_entries:
        group = value_at(entry.value, "affinityGroupName")
        if not isinstance(entry.value, Mapping) or not isinstance(group, Scalar) or not isinstance(group.value, str):
            continue
        if group.value in OBJECT_PROTOTYPE_NAMES:
            yield Finding(name_span(group), f"the server refuses '{group.value}' as the name of an affinity group")
            continue
        wanted = tuple(_text(entry.value.get(key)) for key in ("skuType", "pinnedCellId"))
        others, named = first.setdefault(group.value, (wanted, group))
        if others != wanted:
            message = f"all task roles of affinity group '{group.value}' must have the same SKU type or pinned cell"
            related = Related(name_span(named), "the group's first task role")
            yield Finding(name_span(group), message, related=(related,))


@_hived_rule(Severity.INFORMATION, consequence=Consequence.IGNORED)
def hived_sku_number_ignored(job: Job) -> Iterator[Finding]:
    """`skuNumber` has no effect.

    The rest-server computes the number for each instance from `cpu`, `memoryMB` and `gpu`, and overwrites `skuNumber`.
    (`skuNum` belongs to the portal, which shows it in its form.)
    Source: rest-server, middlewares/v2/hived.js (leafCellNumber).

        extras:
          hivedScheduler:
            taskRoles:
              worker:
                skuType: K80
                skuNumber: 4
                #^^^^^^^^ information

    Good:

        extras:
          hivedScheduler:
            taskRoles:
              worker:
                skuType: K80
    """
    for entry in job.hived_role_entries:
        if (number := entry_at(entry.value, "skuNumber")) is not None:
            message = "'skuNumber' has no effect; it is computed from 'cpu', 'memoryMB' and 'gpu'"
            yield Finding(number.key.span, message)


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _text(node: Node | None) -> str | None:
    return None if node is None or _is_null(node) or not isinstance(node, Scalar) else node.text

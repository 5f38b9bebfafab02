"""The command line of `kafka-acls`: which resources, which entries for each."""

from __future__ import annotations

import re
from typing import Final

from controller_runtime.cli.acl_words import OPERATIONS, PATTERN_TYPES, PERMISSION_TYPES, RESOURCE_TYPES
from controller_runtime.cli.admin_tools import Failed
from controller_runtime.cli.options import BadOption, Given, Option, Table
from controller_runtime.values import dataclass

ANY: Final = 1
ALL: Final = OPERATIONS.index("ALL")
_LITERAL: Final = PATTERN_TYPES.index("LITERAL")
_PREFIXED: Final = PATTERN_TYPES.index("PREFIXED")
_TOPIC: Final = RESOURCE_TYPES.index("TOPIC")
_GROUP: Final = RESOURCE_TYPES.index("GROUP")
_CLUSTER: Final = RESOURCE_TYPES.index("CLUSTER")
_TRANSACTIONAL_ID: Final = RESOURCE_TYPES.index("TRANSACTIONAL_ID")
_RESOURCE_FLAGS: Final = {
    "topic": _TOPIC,
    "group": _GROUP,
    "transactional-id": _TRANSACTIONAL_ID,
    "delegation-token": RESOURCE_TYPES.index("DELEGATION_TOKEN"),
    "user-principal": RESOURCE_TYPES.index("USER"),
}
_SUPPORTED: Final = {
    "TOPIC": "DELETE DESCRIBE DESCRIBE_CONFIGS ALL READ ALTER_CONFIGS CREATE WRITE ALTER",
    "GROUP": "DELETE DESCRIBE DESCRIBE_CONFIGS ALL READ ALTER_CONFIGS",
    "CLUSTER": "DESCRIBE DESCRIBE_CONFIGS ALL ALTER_CONFIGS CLUSTER_ACTION CREATE IDEMPOTENT_WRITE ALTER",
    "TRANSACTIONAL_ID": "DESCRIBE ALL TWO_PHASE_COMMIT WRITE",
    "DELEGATION_TOKEN": "DESCRIBE ALL",
    "USER": "ALL DESCRIBE_TOKENS CREATE_TOKENS",
}
_PRINCIPALS: Final = ("allow-principal", "deny-principal")

OPTIONS: Final = Table(
    "This tool helps to manage acls on kafka.",
    [
        Option("bootstrap-server", "Brokers to ask.", "server to connect to"),
        Option("bootstrap-controller", "Controllers to ask.", "controller to connect to"),
        Option("command-config", "Properties of the client.", "command-config", optional=True),
        Option("add", "Add ACLs."),
        Option("remove", "Remove ACLs."),
        Option("list", "List the ACLs of resources, or all."),
        Option("topic", "A topic; * for all.", "topic"),
        Option("cluster", "The cluster."),
        Option("group", "A consumer group; * for all.", "group"),
        Option("transactional-id", "A transactional id; * for all.", "transactional-id"),
        Option("delegation-token", "A delegation token; * for all.", "delegation-token"),
        Option("user-principal", "A user whose tokens are concerned.", "user-principal"),
        Option(
            "resource-pattern-type", "any, match, literal or prefixed (default: literal).", "ANY|MATCH|LITERAL|PREFIXED"
        ),
        Option("idempotent", "With --producer: allow idempotent producers."),
        Option("operation", "An operation; may be repeated (default: All).", "String"),
        Option("allow-principal", "Who may: type:name.", "allow-principal"),
        Option("deny-principal", "Who may not: type:name.", "deny-principal"),
        Option("principal", "With --list: whose ACLs.", "principal", optional=True),
        Option("allow-host", "From where (default: *).", "allow-host"),
        Option("deny-host", "From where not (default: *).", "deny-host"),
        Option("producer", "What a producer needs on a topic."),
        Option("consumer", "What a consumer needs on a topic and a group."),
        Option("force", "Do not ask."),
    ],
)


@dataclass(frozen=True, slots=True, order=True)
class Pattern:
    resource_type: int
    name: str
    pattern_type: int

    def text(self) -> str:
        resource, pattern = RESOURCE_TYPES[self.resource_type], PATTERN_TYPES[self.pattern_type]
        return f"ResourcePattern(resourceType={resource}, name={self.name}, patternType={pattern})"


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    principal: str
    host: str
    operation: int
    permission_type: int

    def __str__(self) -> str:
        permission = PERMISSION_TYPES[self.permission_type]
        operation = OPERATIONS[self.operation]
        return f"(principal={self.principal}, host={self.host}, operation={operation}, permissionType={permission})"


_THE_CLUSTER: Final = Pattern(_CLUSTER, "kafka-cluster", _LITERAL)
Wanted = dict[Pattern, list[Entry]]


def check(given: Given) -> str:
    """What to do: add, remove or list."""
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        OPTIONS.refuse("Only one of --bootstrap-server or --bootstrap-controller must be specified")
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        OPTIONS.refuse("One of --bootstrap-server or --bootstrap-controller must be specified")
    actions = ("add", "remove", "list")
    why = "Command must include exactly one action: --list, --add, --remove. "
    action = OPTIONS.exactly_one(given, actions, why)
    OPTIONS.exclude(
        given, "list", "producer", "consumer", "allow-host", "allow-principal", "deny-host", "deny-principal"
    )
    OPTIONS.exclude(given, "producer", "operation", "deny-principal", "deny-host")
    OPTIONS.exclude(given, "consumer", "operation", "deny-principal", "deny-host")
    if given.has("producer") and not given.has("topic"):
        OPTIONS.refuse("With --producer you must specify a --topic")
    if given.has("idempotent") and not given.has("producer"):
        OPTIONS.refuse("The --idempotent option is only available if --producer is set")
    alone = not given.has("producer") and any(map(given.has, ("cluster", "transactional-id")))
    if given.has("consumer") and (not given.has("topic") or not given.has("group") or alone):
        need = "a --topic and a --group and no --cluster or --transactional-id option should be specified."
        OPTIONS.refuse(f"With --consumer you must specify {need}")
    return action


def pattern_type(given: Given) -> int:
    """Raises BadOption."""
    text = given.value("resource-pattern-type") or "LITERAL"
    if text.upper() not in PATTERN_TYPES[1:]:
        why = f"Cannot parse argument '{text}' of option resource-pattern-type"
        raise BadOption("OptionArgumentConversionException", why)
    return PATTERN_TYPES.index(text.upper())


def resources(given: Given, *, needed: bool = True) -> list[Pattern]:
    kind = pattern_type(given)
    found = [
        Pattern(resource, name.strip(), kind) for flag, resource in _RESOURCE_FLAGS.items() for name in given.all(flag)
    ]
    if kind == _LITERAL and (given.has("cluster") or given.has("idempotent")):
        found.append(_THE_CLUSTER)
    if not found and needed:
        among = "--topic <topic> or --cluster or --group <group> or --delegation-token <Delegation Token ID>"
        OPTIONS.refuse(f"You must provide at least one resource: {among}")
    return list(dict.fromkeys(found))


def to_add(given: Given) -> Wanted:
    """Raises Failed, BadOption."""
    kind = pattern_type(given)
    if kind not in {_LITERAL, _PREFIXED}:
        word = PATTERN_TYPES[kind]
        OPTIONS.refuse(f"A '--resource-pattern-type' value of '{word}' is not valid when adding acls.")
    found = entries(given)
    if not all(found.values()):
        OPTIONS.refuse("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    return found


def entries(given: Given) -> Wanted:
    """What is asked for each resource. Raises Failed, BadOption."""
    found: Wanted = {}
    if not given.has("producer") and not given.has("consumer"):
        wanted = [operation(one) for one in given.all("operation") or ("All",)]
        found = {one: _entries(given, wanted) for one in resources(given)}
    if given.has("producer"):
        found |= _of_producers(given)
    if given.has("consumer"):
        for one, more in _of_consumers(given).items():
            found[one] = list(dict.fromkeys([*more, *found.get(one, [])]))
    for one, wanted_ in found.items():
        supported = _SUPPORTED[RESOURCE_TYPES[one.resource_type]].split() if one.resource_type > ANY else []
        if any(OPERATIONS[each.operation] not in supported for each in wanted_):
            OPTIONS.refuse(
                f"ResourceType {RESOURCE_TYPES[one.resource_type]} only supports operations [{', '.join(supported)}]"
            )
    return found


def _of_producers(given: Given) -> Wanted:
    found = {}
    for one in resources(given):
        if one.resource_type == _TOPIC:
            found[one] = _named(given, "WRITE", "DESCRIBE", "CREATE")
        elif one.resource_type == _TRANSACTIONAL_ID:
            found[one] = _named(given, "WRITE", "DESCRIBE")
    if given.has("idempotent"):
        found[_THE_CLUSTER] = _named(given, "IDEMPOTENT_WRITE")
    return found


def _of_consumers(given: Given) -> Wanted:
    found = {}
    for one in resources(given):
        if one.resource_type == _TOPIC:
            found[one] = _named(given, "READ", "DESCRIBE")
        elif one.resource_type == _GROUP:
            found[one] = _named(given, "READ")
    return found


def _named(given: Given, *operations: str) -> list[Entry]:
    return _entries(given, [OPERATIONS.index(one) for one in operations])


def _entries(given: Given, operations: list[int]) -> list[Entry]:
    found = []
    for verb, permission in (("allow", "ALLOW"), ("deny", "DENY")):
        principals = [principal(one) for one in given.all(f"{verb}-principal")]
        hosts = [one.strip() for one in given.all(f"{verb}-host")] or ["*"]
        number = PERMISSION_TYPES.index(permission)
        found += [Entry(who, host, one, number) for who in principals for one in operations for host in hosts]
    return list(dict.fromkeys(found))


def principal(text: str) -> str:
    """Raises Failed."""
    kind, colon, name = text.strip().partition(":")
    if not colon or not kind or not name:
        raise Failed(f"expected a string in format principalType:principalName but got {text.strip()}")
    return f"{kind}:{name}"


def operation(text: str) -> int:
    """`IdempotentWrite` or `IDEMPOTENT_WRITE`; UNKNOWN for what is none."""
    bare = re.sub(r"_", "", text.strip()).upper()
    return next((number for number, name in enumerate(OPERATIONS) if name.replace("_", "") == bare), 0)


def list_principals(given: Given) -> list[str]:
    return list(dict.fromkeys(principal(one) for one in given.all("principal")))

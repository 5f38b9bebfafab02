"""A KRaftUser as the API server gives it, checked. A fault is a value here: one bad user keeps no other waiting."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.reader import InvalidSpec, Reader
from kraft_operator.users import Acl, User, UserAuthentication

MAX_NAME: Final = 64
MAX_ACLS: Final = 256
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

# Kafka's numbers.
RESOURCES: Final = {"Topic": 2, "Group": 3, "Cluster": 4, "TransactionalId": 5}
CLUSTER_NAME: Final = "kafka-cluster"
PATTERNS: Final = {"Literal": 3, "Prefixed": 4}
OPERATIONS: Final = {
    "All": 2, "Read": 3, "Write": 4, "Create": 5, "Delete": 6, "Alter": 7, "Describe": 8, "ClusterAction": 9,
    "DescribeConfigs": 10, "AlterConfigs": 11, "IdempotentWrite": 12,
}  # fmt: skip
PERMISSIONS: Final = {"Deny": 2, "Allow": 3}
QUOTAS: Final = {
    "producerByteRate": "producer_byte_rate",
    "consumerByteRate": "consumer_byte_rate",
    "requestPercentage": "request_percentage",
    "controllerMutationRate": "controller_mutation_rate",
}


def parse_user(resource: Mapping[str, Any]) -> User:
    metadata = resource["metadata"]
    name, uid = str(metadata["name"]), str(metadata.get("uid", ""))
    known = User(name, uid, int(metadata.get("generation", 0)), status=resource.get("status") or {})
    rotate = str((metadata.get("annotations") or {}).get(names.ANNOTATION_ROTATE, ""))
    try:
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            raise InvalidSpec("metadata.name", f"must have at most {MAX_NAME} of a-z, 0-9, '-' and '.'")
        spec = Reader("", resource).child("spec")
        by = spec.child("authentication").choice("type", UserAuthentication, UserAuthentication.SCRAM)
        acls = frozenset(acl for item in spec.items("acls") for acl in _acls(item))
        if len(acls) > MAX_ACLS:
            raise InvalidSpec("spec.acls", f"are at most {MAX_ACLS} rules, an operation each, not {len(acls)}")
        quotas = {QUOTAS[key]: _rate(spec.child("quotas"), key) for key in QUOTAS if spec.child("quotas").has(key)}
    except InvalidSpec as error:
        return User(name, uid, known.generation, rotate=rotate, status=known.status, fault=str(error))
    return User(name, uid, known.generation, acls, quotas, rotate=rotate, status=known.status, by=by)


def _acls(item: Reader) -> list[Acl]:
    resource = item.child("resource")
    kind = _number(resource, "type", RESOURCES)
    name = CLUSTER_NAME if kind == RESOURCES["Cluster"] else resource.text("name")
    pattern = _number(resource, "patternType", PATTERNS, "Literal")
    permission = _number(item, "permission", PERMISSIONS, "Allow")
    operations = item.words("operations")
    for each in operations:
        if each not in OPERATIONS:
            raise InvalidSpec(item.at("operations"), f"{each!r} is none of {', '.join(OPERATIONS)}")
    if not operations:
        raise InvalidSpec(item.at("operations"), "is missing")
    host = item.text("host", "*")
    return [Acl(kind, name, pattern, host, operation=OPERATIONS[each], permission=permission) for each in operations]


def _number(item: Reader, name: str, words: Mapping[str, int], default: str | None = None) -> int:
    text = item.text(name, default)
    if text not in words:
        raise InvalidSpec(item.at(name), f"{text!r} is none of {', '.join(words)}")
    return words[text]


def _rate(quotas: Reader, name: str) -> float:
    value = quotas.values[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        raise InvalidSpec(quotas.at(name), f"a positive number is needed, not {value!r}")
    return float(value)

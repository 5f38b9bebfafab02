"""Reads `storage`: what each node of a group has, and what single ones have instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kraft_operator.api.reader import InvalidSpec, Reader, quantity
from kraft_operator.api.spec import Storage

MIN_SIZE: Final = "100Mi"
MAX_OVERRIDES: Final = 100
_SELECTOR: Final = ("matchLabels", "matchExpressions")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def parse_storage(storage: Reader) -> Storage:
    return _storage(storage, Storage("10Gi"))


def parse_overrides(storage: Reader, common: Storage, group: Reader) -> Mapping[int, Storage]:
    """What an override does not say is as for all."""
    found: dict[int, Storage] = {}
    ids = group.child("nodeIdRange").values
    for each in storage.items("overrides"):
        node_id = each.number("nodeID")
        if node_id in found:
            raise InvalidSpec(each.at("nodeID"), f"node {node_id} stands there twice")
        if not ids.get("start", node_id) <= node_id <= ids.get("end", node_id):
            raise InvalidSpec(each.at("nodeID"), f"{node_id} is not in nodeIdRange")
        if not any(each.has(name) for name in ("size", "storageClassName", "selector")):
            raise InvalidSpec(each.path, "says nothing: give size, storageClassName or selector")
        found[node_id] = _storage(each, common)
    if len(found) > MAX_OVERRIDES:
        raise InvalidSpec(storage.at("overrides"), f"at most {MAX_OVERRIDES}, not {len(found)}")
    return found


def _storage(storage: Reader, common: Storage) -> Storage:
    size = storage.values.get("size", common.size)
    if not isinstance(size, str | int) or isinstance(size, bool):
        raise InvalidSpec(storage.at("size"), f"a quantity such as 10Gi is needed, not {size!r}")
    if quantity(str(size), storage.at("size")) < quantity(MIN_SIZE, ""):
        raise InvalidSpec(storage.at("size"), f"must be at least {MIN_SIZE}, not {size}")
    class_name = storage.optional_text("storageClassName") or common.storage_class_name
    return Storage(str(size), class_name, _selector(storage) or common.selector)


def _selector(storage: Reader) -> Mapping[str, Any]:
    found = storage.optional_object("selector") or {}
    if unknown := sorted(set(found) - set(_SELECTOR)):
        raise InvalidSpec(storage.at("selector"), f"has no {unknown[0]}: give {' or '.join(_SELECTOR)}")
    selector = storage.child("selector")
    selector.texts("matchLabels")
    for each in selector.items("matchExpressions"):
        each.text("key")
        if each.text("operator") not in _OPERATORS:
            raise InvalidSpec(each.at("operator"), f"must be one of {', '.join(_OPERATORS)}")
        each.words("values")
    return found

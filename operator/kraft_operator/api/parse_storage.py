"""Reads `storage`: what each node of a group has, what single ones have instead, and what brokers have besides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from kraft_operator.api.pod import FURTHER_PATH, FURTHER_VOLUME
from kraft_operator.api.reader import InvalidSpec, Reader, quantity
from kraft_operator.api.spec import Group
from kraft_operator.api.storage import Storage, StorageType
from storage_guard.formats import MAX_FURTHER_VOLUMES

MIN_SIZE: Final = "100Mi"
MAX_OVERRIDES: Final = 100
_VOLUME_NAME: Final = re.compile(r"^[a-z][a-z0-9]{0,9}$")
_SELECTOR: Final = ("matchLabels", "matchExpressions")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def parse_storage(storage: Reader) -> Storage:
    found = _storage(storage, Storage("10Gi"))
    if storage.choice("type", StorageType, StorageType.PERSISTENT) is StorageType.PERSISTENT:
        return found
    for field in ("storageClassName", "selector", "overrides", "volumes"):
        if storage.has(field):
            raise InvalidSpec(storage.at(field), "is not of type Ephemeral, which has no claims: take it out")
    return replace(found, ephemeral=True)


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


def parse_volumes(storage: Reader) -> Mapping[str, Storage]:
    """The volumes of brokers beside the first one, which is called `data`."""
    found: dict[str, Storage] = {}
    for each in storage.items("volumes"):
        name = each.text("name")
        if not _VOLUME_NAME.match(name) or name == "data":
            raise InvalidSpec(
                each.at("name"), f"{name!r} is no name: up to ten lower-case letters and digits, not data"
            )
        if name in found:
            raise InvalidSpec(each.at("name"), f"volume {name} stands there twice")
        if not each.has("size"):
            raise InvalidSpec(each.at("size"), "is missing")
        found[name] = _storage(each, Storage(MIN_SIZE))
    if len(found) > MAX_FURTHER_VOLUMES:
        raise InvalidSpec(storage.at("volumes"), f"at most {MAX_FURTHER_VOLUMES} beside the first, not {len(found)}")
    return found


def check_volumes(path: str, group: Group) -> Iterator[tuple[str, str]]:
    """What of the group's pods would hide a further volume, or be hidden by it, as (path, problem)."""
    named = {each["name"] for each in group.pod.volumes}
    mounted = [f"{each['mountPath']}/" for each in group.pod.volume_mounts]
    for name in group.volumes:
        where = f"{FURTHER_PATH}{name}"
        if f"{FURTHER_VOLUME}{name}" in named:
            problem = f"volume {FURTHER_VOLUME}{name} is that of storage.volumes: give yours another name"
            yield f"{path}.pod.volumes", problem
        if any(each.startswith(f"{where}/") for each in mounted):
            problem = f"volume {name} of storage.volumes is mounted at {where}: mount yours elsewhere"
            yield f"{path}.pod.volumeMounts", problem


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

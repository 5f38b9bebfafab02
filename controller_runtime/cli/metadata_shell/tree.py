"""The tree that the shell shows: an image of the cluster as directories and leaves, made on demand.

Names and texts are Apache Kafka's. A directory knows its names and makes a child when it is asked for, so that a
cluster of a million partitions costs nothing until somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from controller_runtime.cli.metadata_shell import texts
from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.metadata.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.metadata.dump_lines import java_double
from controller_runtime.metadata.features import METADATA_VERSION, METADATA_VERSIONS
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.values import dataclass

_KAFKA: Final = {"version": "4.3.1", "commitId": "26b251a451ce941d"}
"""Whose shell this one is the equal of."""
_SCRAM_MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_RESOURCES: Final = {
    "BROKER_LOGGER": BROKER_LOGGER,
    "BROKER": BROKER,
    "TOPIC": TOPIC,
    "GROUP": GROUP,
    "CLIENT_METRICS": CLIENT_METRICS,
}
_FINALIZED: Final = "finalized_"
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Leaf:
    text: str


@dataclass(frozen=True, slots=True)
class Directory:
    names: Callable[[], Iterable[str]]
    child: Callable[[str], Node | None]

    def sorted_names(self) -> list[str]:
        """In Java's order of strings."""
        return sorted(self.names(), key=lambda name: name.encode("utf-16-be", "surrogatepass"))


Node = Directory | Leaf


@dataclass(frozen=True, slots=True)
class Provenance:
    """The newest batch that is in the image."""

    offset: int = -1
    epoch: int = -1
    time_ms: int = -1


def root_of(image: MetadataImage, provenance: Provenance) -> Directory:
    return _fixed({"local": lambda: _fixed(_leaves(_KAFKA)), "image": lambda: image_tree(image, provenance)})


def image_tree(image: MetadataImage, provenance: Provenance) -> Directory:
    return _fixed(
        {
            "provenance": lambda: Leaf(texts.provenance(provenance.offset, provenance.epoch, provenance.time_ms)),
            "features": lambda: _features(image),
            "cluster": lambda: _cluster(image),
            "topics": lambda: _topics(image),
            "configs": lambda: _configs(image),
            "clientQuotas": lambda: _client_quotas(image),
            "producerIds": lambda: _fixed(_leaves({"nextProducerId": str(image.next_producer_id)})),
            "acls": lambda: _fixed({"byId": lambda: _acls(image)}),
            "scram": lambda: _scram(image),
            "delegationToken": lambda: _delegation_tokens(image),
        }
    )


def lines(node: Node, depth: int = 0) -> Iterator[str]:
    """A node and everything below it, indented. A name without a child shows only itself."""
    if isinstance(node, Leaf):
        yield _INDENT * depth + node.text
        return
    for name in node.sorted_names():
        yield f"{_INDENT * depth}{name}:"
        child = node.child(name)
        if child is not None:
            yield from lines(child, depth + 1)


def _fixed(children: Mapping[str, Callable[[], Node]]) -> Directory:
    return Directory(lambda: children, lambda name: children[name]() if name in children else None)


def _leaves(values: Mapping[str, str]) -> dict[str, Callable[[], Node]]:
    return {name: partial(Leaf, text) for name, text in values.items()}


def _each(values: Mapping[str, Any], shown: Callable[[Any], Node]) -> Directory:
    return Directory(lambda: values, lambda name: shown(values[name]) if name in values else None)


def _features(image: MetadataImage) -> Directory:
    levels = {name: level for name, level in image.features.levels.items() if name != METADATA_VERSION}
    level = image.features.metadata_version
    version = f"Optional[{METADATA_VERSIONS[level - 1].name}]" if level else "Optional.empty"

    def child(name: str) -> Node | None:
        if name == "metadataVersion":
            return Leaf(version)
        found = levels.get(name.removeprefix(_FINALIZED), 0)
        return Leaf(str(found)) if name.startswith(_FINALIZED) else None

    return Directory(lambda: ["metadataVersion", *(_FINALIZED + name for name in levels)], child)


def _cluster(image: MetadataImage) -> Directory:
    brokers, controllers = image.cluster.brokers, image.cluster.controllers
    return _fixed(
        {
            "brokers": lambda: _numbered(brokers, texts.broker),
            "controllers": lambda: _numbered(controllers, texts.controller),
        }
    )


def _numbered(values: Mapping[NodeId, Any], shown: Callable[[Any], str]) -> Directory:
    def child(name: str) -> Node | None:
        found = values.get(NodeId(number)) if (number := texts.parse_int(name)) is not None else None
        return None if found is None else Leaf(shown(found))

    return Directory(lambda: map(str, values), child)


def _topics(image: MetadataImage) -> Directory:
    topics = image.topics

    def by_id(name: str) -> Node | None:
        try:
            found = topics.get(Uuid.parse(name))
        except ValueError:
            return None
        return None if found is None else _topic(found)

    def by_name(name: str) -> Node | None:
        found = topics.named(name)
        return None if found is None else _topic(found)

    return _fixed(
        {
            "byId": lambda: Directory(lambda: (str(one.id) for one in topics), by_id),
            "byName": lambda: Directory(lambda: (one.name for one in topics), by_name),
        }
    )


def _topic(topic: TopicImage) -> Directory:
    own = {"name": topic.name, "id": str(topic.id)}

    def child(name: str) -> Node | None:
        if name in own:
            return Leaf(own[name])
        number = texts.parse_int(name)
        found = None if number is None else topic.partition(number)
        return None if found is None else Leaf(texts.partition(found))

    return Directory(lambda: [*own, *(str(index) for index, _ in topic.partitions())], child)


def _configs(image: MetadataImage) -> Directory:
    kinds = {number: name for name, number in _RESOURCES.items()}

    def names() -> Iterator[str]:
        for kind, name, _ in image.configs.items():
            yield f"{kinds[kind]}:{name}" if name else kinds[kind]

    def child(name: str) -> Node | None:
        kind = next((kind for kind in _RESOURCES if name.startswith(kind)), None)
        rest = name.removeprefix(kind or "")
        if kind is None or (rest and not rest.startswith(":")):
            return None
        values = image.configs.of(_RESOURCES[kind], rest[1:])
        return _each(values, Leaf) if values else None

    return Directory(names, child)


def _client_quotas(image: MetadataImage) -> Directory:
    def child(name: str) -> Node | None:
        entity = texts.parse_quota_entity(name)
        quotas = None if entity is None else image.client_quotas.get(entity)
        return None if quotas is None else _each(quotas, lambda value: Leaf(java_double(value)))

    return Directory(lambda: map(texts.quota_entity, image.client_quotas), child)


def _acls(image: MetadataImage) -> Directory:
    return _each({str(one): acl for one, acl in image.acls.items()}, lambda acl: Leaf(texts.acl(acl)))


def _scram(image: MetadataImage) -> Directory:
    def users(mechanism: int) -> Directory:
        own = {user: found for (of, user), found in image.scram.items() if of == mechanism}
        return _each(own, lambda found: Leaf(texts.scram(found)))

    return _fixed({name: partial(users, number) for name, number in _SCRAM_MECHANISMS.items()})


def _delegation_tokens(image: MetadataImage) -> Directory:
    return _each(image.delegation_tokens, lambda token: Leaf(texts.delegation_token(token)))

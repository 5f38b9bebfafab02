"""`passthrough` of a listener out of the resource: the names in TLS by which one address leads to every broker.

A name leads to one broker only, and to none of an address: what passes TLS on sees the name that a client asks for, and
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kraft_operator.api.combined import broker_ids
from kraft_operator.api.network import BY_NAME, NODE_ID, Decoration, Exposure, Parent, Passthrough
from kraft_operator.api.reader import InvalidSpec, Reader
from kraft_operator.api.spec import ClusterSpec

MAX_HOST: Final = 253
_LABEL: Final = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_HOST: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def passthrough_of(item: Reader, exposure: Exposure, decoration: Decoration) -> Passthrough | None:
    """`decoration`: what the resource adds to Ingresses. Raises InvalidSpec."""
    asked = item.child("passthrough")
    if exposure not in BY_NAME:
        if item.has("passthrough"):
            raise InvalidSpec(asked.path, f"belongs to the exposure {_either()}; set it or take passthrough out")
        return None
    if not item.has("passthrough"):
        told = f"is needed by the exposure {exposure}: name bootstrapHost, and brokerHost with {NODE_ID}"
        raise InvalidSpec(asked.path, told)
    if item.has("advertisedHost"):
        told = "take it out: with one name for all no broker could be told apart; use passthrough.brokerHost"
        raise InvalidSpec(item.at("advertisedHost"), told)
    if item.child("service").has("externalTrafficPolicy"):
        raise InvalidSpec(item.child("service").at("externalTrafficPolicy"), f"take it out: not of {exposure}")
    port = asked.number("port", 443)
    if not 1 <= port <= 65535:
        raise InvalidSpec(asked.at("port"), f"must lie between 1 and 65535, not {port}")
    broker_host = asked.optional_text("brokerHost")
    if broker_host is not None and NODE_ID not in broker_host:
        raise InvalidSpec(asked.at("brokerHost"), f"{broker_host!r} needs {NODE_ID}: each broker has a name of its own")
    for name, host in (("bootstrapHost", asked.text("bootstrapHost")), ("brokerHost", broker_host)):
        if host is not None and not is_host(host.replace(NODE_ID, "9999")):
            raise InvalidSpec(asked.at(name), f"{host!r} is no name in TLS, such as kafka.example.com")
    for each in item.items("brokers"):
        own = each.optional_text("advertisedHost")
        if own is not None and not is_host(own):
            raise InvalidSpec(each.at("advertisedHost"), f"{own!r} is no name in TLS, such as kafka.example.com")
    return Passthrough(
        asked.text("bootstrapHost"),
        broker_host,
        port,
        ingress_class=asked.optional_text("ingressClassName"),
        parent=_parent(asked, exposure),
        decoration=decoration,
    )


def _parent(asked: Reader, exposure: Exposure) -> Parent | None:
    for name, owner in (("ingressClassName", Exposure.INGRESS), ("parentRef", Exposure.GATEWAY)):
        if asked.has(name) and exposure is not owner:
            raise InvalidSpec(asked.at(name), f"take it out: it is of the exposure {owner}")
    if exposure is not Exposure.GATEWAY:
        return None
    if not asked.has("parentRef"):
        raise InvalidSpec(asked.at("parentRef"), "is needed by the exposure Gateway: name the Gateway")
    found = asked.child("parentRef")
    port = found.number("port") if found.has("port") else None
    return Parent(found.text("name"), found.optional_text("namespace"), found.optional_text("sectionName"), port)


def is_host(text: str) -> bool:
    """Lower case, and no address: what ends in a number is one."""
    return len(text) <= MAX_HOST and bool(_HOST.fullmatch(text)) and not text.rpartition(".")[2].isdigit()


def check_hosts(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    """Every broker has a name, and no name leads to two."""
    taken: dict[str, str] = {}
    brokers = sorted(broker_ids(spec))
    for listener in spec.broker_listeners:
        if listener.passthrough is None:
            continue
        named = [("its bootstrap", listener.passthrough.bootstrap_host)]
        named += [(f"broker {node_id}", listener.host_of(node_id) or "") for node_id in brokers]
        for owner, host in named:
            whose = f"{owner} of {listener.name}"
            if not host:
                yield "endpoints.broker", f"name a host for {whose}: passthrough.brokerHost, or its advertisedHost"
                return
            if host in taken:
                yield "endpoints.broker", f"give {whose} another host than {host}: it leads to {taken[host]}"
                return
            taken[host] = whose


def _either() -> str:
    return " or ".join(BY_NAME)

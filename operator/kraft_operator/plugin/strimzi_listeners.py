"""Strimzi's listeners in the words of a KRaftCluster: how clients come in, and how they say who they are.

Who had to say who he is has to say it here. What cannot be said in the same way is SCRAM-SHA-512 instead, never less;
what can be, asks for no less than it did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kraft_operator.api.network import NODE_ID
from kraft_operator.api.parse_login import CLAIM, MIN_SESSION_SECONDS, URL
from kraft_operator.plugin import strimzi_running
from kraft_operator.plugin.strimzi_parts import NO_PLACE, LeftOut, Object, given
from kraft_operator.plugin.taking import Taken

TYPES: Final = {
    "internal": "ClusterInternal",
    "cluster-ip": "ClusterInternal",
    "nodeport": "NodePort",
    "loadbalancer": "LoadBalancer",
    "ingress": "Ingress",
}
REPLICATION: Final = {"name": "REPLICATION", "port": 9091, "exposure": "ClusterInternal"}
OWNED_PORTS: Final = (9091, 9093, 9404)
_HOLE: Final = re.compile(r"\{(?!nodeID\})")


def is_secure(asked: Sequence[Object]) -> bool:
    """Whether the cluster is to be."""
    return any(each.get("tls") or each.get("authentication") for each in asked)


def listeners(
    asked: Sequence[Object], cluster: str, left_out: LeftOut, changed: list[str], *, kept: bool = False
) -> list[dict[str, Any]]:
    """The brokers' own comes first, as Strimzi's does unseen. `kept`: of a cluster that runs, by names and ports as
    they are; its nodes speak TLS whatever its clients do.
    """
    secure = kept or is_secure(asked)
    found: list[dict[str, Any]] = [dict(strimzi_running.REPLICATION if kept else REPLICATION)]
    used = set(strimzi_running.OWNED_PORTS if kept else OWNED_PORTS)
    for each in asked:
        taken = Taken(each, f"spec.kafka.listeners[{each.get('name')}]")
        kind = str(taken.take("type"))
        if kind not in TYPES:
            left_out.append(
                (f"Kafka {taken.path}", f"type {kind} has none here: use LoadBalancer, NodePort or Ingress")
            )
            continue
        name = re.sub(r"[^A-Z0-9]", "", str(taken.take("name")).upper()).lstrip("0123456789")[:15] or "CLIENTS"
        name = "CLIENTS" if name in ("HTTP", "CONTROLLER", "PLAINTEXT", "REPLICATION") else name
        asked_port = port = int(taken.take("port"))
        if port in used:
            moved = next(other for other in range(19092, 19192) if other not in used)
            changed.append(f"{taken.path}: port {port} is taken here, it listens at {moved}")
            port = moved
        if kept:
            name = f"{str(each['name']).upper()}-{asked_port}"
        listener: dict[str, Any] = {"name": name, "port": port, "exposure": TYPES[kind]}
        outside = _outside(taken, kind, (cluster, str(each.get("name")), asked_port), left_out)
        if outside is None:
            continue
        used.add(port)
        tls = bool(taken.take("tls"))
        if secure:
            listener["authentication"] = _login(taken, left_out, changed)
            if kept and not tls and listener["authentication"]["type"] == "None":
                listener["tls"] = "Disabled"
            elif not tls:
                changed.append(f"{taken.path}: speaks TLS, as every listener of a secure cluster")
        found.append(listener | outside)
        left_out += [(f"Kafka {path}", _why(path, kept=kept)) for path, _ in taken.left()]
    return found


def _why(path: str, *, kept: bool) -> str:
    if path.endswith(".networkPolicyPeers"):
        return "spec.networkPolicy.clientPeers is about all listeners of clients"
    if ".configuration.brokers" in path:
        others = "" if kept else "node ids are others here: "
        return f"{others}say it in the listener's brokers, by {'the same' if kept else 'the new'} ids"
    if ".configuration.bootstrap.annotations" in path or ".configuration.bootstrap.labels" in path:
        return "passthrough.annotations and labels are of every Ingress of the listener"
    if path.endswith(".tlsTrustedCertificates"):
        return "put the certificates themselves into authentication.oauth.trustedCertificates"
    return NO_PLACE


def _outside(taken: Taken, kind: str, named: tuple[str, str, int], left_out: LeftOut) -> dict[str, Any] | None:
    """How clients outside come in; None where they cannot, and why is said."""
    if TYPES[kind] == "ClusterInternal":
        return {}
    if kind == "ingress":
        return _by_name(taken, named, left_out)
    service = {
        "loadBalancerClass": taken.take("configuration.class"),
        "loadBalancerSourceRanges": taken.take("configuration.loadBalancerSourceRanges"),
        "externalTrafficPolicy": taken.take("configuration.externalTrafficPolicy"),
    }
    bootstrap = {key: taken.take(f"configuration.bootstrap.{key}") for key in ("annotations", "labels")}
    return given({"service": given(service), "bootstrapService": given(bootstrap)})


def _by_name(taken: Taken, named: tuple[str, str, int], left_out: LeftOut) -> dict[str, Any] | None:
    cluster, listener, port = named
    begin, template = taken.take("configuration.bootstrap.host"), str(taken.take("configuration.hostTemplate") or "")
    words = {"{nodeId}": NODE_ID, "{listenerName}": listener, "{listenerPort}": str(port), "{clusterName}": cluster}
    for hole, word in words.items():
        template = template.replace(hole, word)
    if not begin or NODE_ID not in template or _HOLE.search(template):
        told = "name passthrough.bootstrapHost and brokerHost: hosts come of the node's id by a hostTemplate"
        left_out.append((f"Kafka {taken.path}", f"{told} with {{nodeId}}"))
        return None
    found = {"bootstrapHost": begin, "brokerHost": template, "ingressClassName": taken.take("configuration.class")}
    told_port = str(taken.take("configuration.advertisedPortTemplate") or "")
    if told_port.isdigit():
        found["port"] = int(told_port)
    elif told_port:
        left_out.append((f"Kafka {taken.path}.configuration.advertisedPortTemplate", "passthrough.port is one for all"))
    return {"passthrough": given(found)}


def _login(taken: Taken, left_out: LeftOut, changed: list[str]) -> dict[str, Any]:
    how = taken.take("authentication.type")
    if how is None:
        return {"type": "None"}
    if how == "tls":
        told = "KRaftUsers with authentication.type Tls, those of Strimzi's clients CA are not trusted"
        changed.append(f"{taken.path}: certificates of clients are of this cluster's own authority: {told}")
        return {"type": "Tls"}
    if how == "oauth":
        lifetime = _lifetime(taken)
        provider, why = _provider(taken, changed)
        if provider is not None:
            return {"type": "OAuth", "oauth": provider, **lifetime}
        left_out.append((f"Kafka {taken.path}.authentication", f"oauth: {why}; until then clients log in by SCRAM"))
        return {"type": "Scram", **lifetime}
    elif how != "scram-sha-512":
        left_out.append((f"Kafka {taken.path}.authentication", f"{how}: clients log in by SCRAM-SHA-512"))
    return {"type": "Scram"}


def _lifetime(taken: Taken) -> dict[str, str]:
    """A shorter one than any here becomes the shortest."""
    seconds = int(taken.take("authentication.maxSecondsWithoutReauthentication") or 0)
    return {"sessionLifetime": f"{max(seconds, int(MIN_SESSION_SECONDS))}s"} if seconds > 0 else {}


def _provider(taken: Taken, changed: list[str]) -> tuple[dict[str, Any] | None, str]:
    """None where tokens would be taken that Strimzi refused, or be somebody else's; and what is missing."""
    asked = taken.take("authentication") or {}
    url, issuer = str(asked.get("jwksEndpointUri") or ""), asked.get("validIssuerUri")
    client, claim = asked.get("clientId"), str(asked.get("userNameClaim") or "sub")
    lacks = {
        "keys at an https jwksEndpointUri (introspection is not built)": not URL.fullmatch(url),
        "validIssuerUri": not issuer,
        "clientId, which is the audience of tokens": not client,
        "a userNameClaim that is one claim's name": not CLAIM.fullmatch(claim),
        "no customClaimCheck": bool(asked.get("customClaimCheck")),
    }
    if missing := [name for name, lacking in lacks.items() if lacking]:
        return None, f"authentication.oauth needs {', '.join(missing)}"
    if not asked.get("checkAudience"):
        changed.append(f"{taken.path}: tokens have to be for the audience {client}, which nobody looked at before")
    if asked.get("checkIssuer") is False:
        changed.append(f"{taken.path}: tokens have to be of the issuer {issuer}, which nobody looked at before")
    for key, value in asked.items():
        if key not in _SAID and value != _AS_HERE.get(key):
            taken.leave(f"authentication.{key}", value)
    return {"jwksURL": url, "issuer": issuer, "audiences": [client], "userClaim": claim}, ""


_SAID: Final = ("jwksEndpointUri", "validIssuerUri", "clientId", "userNameClaim", "checkAudience", "checkIssuer")
_AS_HERE: Final[Mapping[str, Any]] = {"accessTokenIsJwt": True, "enableOauthBearer": True, "enablePlain": False}
"""What means what is done here anyway."""

"""A cluster that another operator laid out as Strimzi lays its out: pods of no StatefulSet, claims
`data-0-NAME-POOL-ID`, directory `kafka-logID`, listeners with numbers in their names, and with TLS its authority in two
Secrets and a certificate for each pod, by which all nodes are `CN=NAME-kafka,O=io.strimzi`.
"""

from __future__ import annotations

import secrets
from base64 import b64encode
from functools import partial
from typing import Any, Final

from controller_runtime.identifiers import Uuid
from kraft_operator.kube import CLAIM, CONFIG_MAP, POD, SECRET, SERVICE, Kind
from support.kubernetes.cluster import CUSTOM_RESOURCE, Kubernetes
from support.kubernetes.operator_process import eventually
from support.security import strimzi_certificates

CONTROLLERS: Final = (0, 1, 2)
BROKERS: Final = (100, 101)
OLD: Final = "old"
CONTROL: Final = {"name": "CONTROLPLANE-9090", "port": 9090}
REPLICATION: Final = {"name": "REPLICATION-9091", "port": 9091}
LABELS: Final = {"strimzi.io/cluster": OLD}
KAFKA: Final = Kind("Kafka", "kafka.strimzi.io/v1beta2", "kafkas")
NODE_POOL: Final = Kind("KafkaNodePool", "kafka.strimzi.io/v1beta2", "kafkanodepools")
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def definition(kind: Kind) -> dict[str, Any]:
    """Of Strimzi's resources: any object of this kind will do."""
    group, _, version = kind.api.partition("/")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    named = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()}
    spec = {"group": group, "names": named, "scope": "Namespaced", "versions": [served]}
    return {
        "apiVersion": CUSTOM_RESOURCE.api, "kind": CUSTOM_RESOURCE.kind,
        "metadata": {"name": f"{kind.plural}.{group}"}, "spec": spec,
    }  # fmt: skip


class Old:
    """The cluster as it was: pods, claims, one ConfigMap for each node, a headless Service."""

    def __init__(
        self, kubernetes: Kubernetes, namespace: str, image: str, *, tls: bool, authorized: bool, several: bool = False,
        combined: bool = False,
    ) -> None:  # fmt: skip
        """`several`: brokers have two volumes, the second one with the metadata log. `combined`: the controllers are
        the brokers.
        """
        self.kubernetes, self.namespace, self.image = kubernetes, namespace, image
        self.gateway = kubernetes.gateway
        self.tls, self.authorized, self.several = tls, authorized, several
        self.brokers = CONTROLLERS if combined else BROKERS
        self.nodes = tuple(sorted({*CONTROLLERS, *self.brokers}))
        self.cluster_id = str(Uuid(secrets.token_bytes(16)))
        self.directories = {each: str(Uuid(secrets.token_bytes(16))) for each in CONTROLLERS}
        self.authority = strimzi_certificates.authority()

    @property
    def clients(self) -> dict[str, Any]:
        return {"name": "TLS-9093", "port": 9093} if self.tls else {"name": "PLAIN-9092", "port": 9092}

    @staticmethod
    def name(node_id: int) -> str:
        return f"{OLD}-ctl-{node_id}" if node_id in CONTROLLERS else f"{OLD}-b-{node_id}"

    def numbers(self, node_id: int) -> tuple[int, ...]:
        """Of a node's volumes, that of the metadata log first."""
        return (1, 0) if self.several and node_id in BROKERS else (0,)

    @property
    def disks(self) -> list[tuple[int, int]]:
        return [(node_id, number) for node_id in self.nodes for number in self.numbers(node_id)]

    def claim(self, node_id: int, number: int = 0) -> str:
        return f"data-{number}-{self.name(node_id)}"

    def roles(self, node_id: int) -> list[str]:
        played = (("controller", CONTROLLERS), ("broker", self.brokers))
        return [role for role, nodes in played if node_id in nodes]

    def host(self, node_id: int) -> str:
        return f"{self.name(node_id)}.{OLD}-kafka-brokers.{self.namespace}.svc.cluster.local"

    def super_users(self) -> list[str]:
        """Of Strimzi's own, and of its resource (`spec.kafka.authorization.superUsers`), which names our nodes."""
        ours = [f"c-node-{each}" for each in self.nodes] + ["c-operator"]
        return [f"User:CN={OLD}-kafka,O=io.strimzi", *(f"User:CN={each},OU={self.namespace},O=c" for each in ours)]

    def properties(self, node_id: int) -> str:
        host, roles = self.host(node_id), self.roles(node_id)
        served = [CONTROL] if "controller" in roles else []
        served += [REPLICATION, self.clients] if "broker" in roles else []
        protocols = {each["name"]: "SSL" if self.tls else "PLAINTEXT" for each in (CONTROL, REPLICATION, self.clients)}
        if self.authorized:
            protocols[self.clients["name"]] = "SASL_SSL"
        values = {
            "process.roles": ",".join(roles),
            "node.id": str(node_id),
            "listeners": ",".join(f"{each['name']}://:{each['port']}" for each in served),
            "advertised.listeners": ",".join(f"{each['name']}://{host}:{each['port']}" for each in served),
            "listener.security.protocol.map": ",".join(f"{name}:{how}" for name, how in protocols.items()),
            "controller.listener.names": "CONTROLPLANE-9090",
            "controller.quorum.bootstrap.servers": ",".join(f"{self.host(each)}:9090" for each in CONTROLLERS),
            "log.dirs": ",".join(directory(node_id, each) for each in sorted(self.numbers(node_id))),
            "metadata.log.dir": directory(node_id, self.numbers(node_id)[0]),
        }
        if "broker" in roles:
            values |= {"inter.broker.listener.name": "REPLICATION-9091", "offsets.topic.replication.factor": "2"}
        values |= self._secure() if self.tls else {}
        return "".join(f"{key}={value}\n" for key, value in values.items())

    def _secure(self) -> dict[str, str]:
        found = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "/tls/keystore.pem",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/tls/ca.crt",
            "ssl.endpoint.identification.algorithm": "HTTPS",
            "listener.name.controlplane-9090.ssl.client.auth": "required",
            "listener.name.replication-9091.ssl.client.auth": "required",
        }
        if self.authorized:
            found |= {
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": ";".join(self.super_users()),
                "listener.name.tls-9093.sasl.enabled.mechanisms": "SCRAM-SHA-512",
                "listener.name.tls-9093.scram-sha-512.sasl.jaas.config": SCRAM,
            }
        return found

    def start(self) -> None:
        spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": LABELS}
        ports = [{"name": f"tcp-{port}", "port": port} for port in (9090, 9091, self.clients["port"])]
        meta = {"name": f"{OLD}-kafka-brokers", "namespace": self.namespace}
        self.gateway.create(SERVICE, self.namespace, {"metadata": meta, "spec": {**spec, "ports": ports}})
        if self.tls:
            self.secret(f"{OLD}-cluster-ca", {"ca.key": self.authority.key})
            self.secret(f"{OLD}-cluster-ca-cert", {"ca.crt": self.authority.certificate})
        for node_id in self.nodes:
            if self.tls:
                pair = strimzi_certificates.node(self.authority, OLD, [self.host(node_id)])
                held = {"keystore.pem": pair.key + pair.certificate, "ca.crt": self.authority.certificate}
                self.secret(self.name(node_id), held)
            text = {"server.properties": self.properties(node_id)}
            body = {"metadata": {"name": self.name(node_id)}, "data": text}
            self.gateway.create(CONFIG_MAP, self.namespace, body)
            asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            for number in self.numbers(node_id):
                claim = {"metadata": {"name": self.claim(node_id, number), "labels": LABELS}, "spec": asked}
                self.gateway.create(CLAIM, self.namespace, claim)
            self.gateway.create(POD, self.namespace, self.pod(node_id))
        eventually("the old cluster runs", lambda: all(map(self.ready, self.nodes)))

    def resources(self) -> list[tuple[Kind, dict[str, Any]]]:
        """What Strimzi's operator would have made this cluster of, with the status that it writes."""
        tls = {"type": "internal", "tls": self.tls}
        login = {"authentication": {"type": "scram-sha-512"}} if self.authorized else {}
        listener = {"name": "tls" if self.tls else "plain", "port": self.clients["port"], **tls, **login}
        kafka: dict[str, Any] = {"version": "4.1.0", "image": self.image, "listeners": [listener]}
        if self.authorized:
            others = [each.removeprefix("User:") for each in self.super_users()[1:]]
            kafka["authorization"] = {"type": "simple", "superUsers": others}
        status: dict[str, Any] = {"clusterId": self.cluster_id}
        found = [(KAFKA, _body(KAFKA, {"name": OLD}, {"kafka": kafka}, status))]
        apart = () if self.brokers == CONTROLLERS else (("b", BROKERS),)
        for name, ids in (("ctl", CONTROLLERS), *apart):
            volumes = [
                {"id": number, "type": "persistent-claim", "size": "1Gi"} for number in sorted(self.numbers(ids[0]))
            ]
            volumes[-1]["kraftMetadata"] = "shared"
            spec = {"replicas": len(ids), "roles": self.roles(ids[0]), "storage": {"type": "jbod", "volumes": volumes}}
            meta = {"name": name, "labels": LABELS}
            found.append((NODE_POOL, _body(NODE_POOL, meta, spec, {"nodeIds": list(ids)})))
        return found

    def secret(self, name: str, held: dict[str, str]) -> None:
        data = {key: b64encode(text.encode()).decode() for key, text in held.items()}
        self.gateway.create(SECRET, self.namespace, {"metadata": {"name": name}, "type": "Opaque", "data": data})

    def pod(self, node_id: int) -> dict[str, Any]:
        voters = ",".join(f"{each}@{self.host(each)}:9090:{self.directories[each]}" for each in CONTROLLERS)
        first = ["--initial-controllers", voters] if node_id in CONTROLLERS else []
        tool = ["/opt/kafka/bin/kafka-storage.sh", "format", "--ignore-formatted", "--cluster-id", self.cluster_id]
        port = 9091 if node_id in self.brokers else 9090
        ready = {"tcpSocket": {"port": port}, "periodSeconds": 2, "failureThreshold": 3}
        container = self.container(
            node_id, "kafka", ["/opt/kafka/bin/kafka-server-start.sh", "/config/server.properties"]
        )
        return {
            "metadata": {"name": self.name(node_id), "labels": LABELS},
            "spec": {
                **self.bare(node_id),
                "hostname": self.name(node_id),
                "subdomain": f"{OLD}-kafka-brokers",
                "initContainers": [
                    self.container(node_id, "format", [*tool, "--config", "/config/server.properties", *first])
                ],
                "containers": [{**container, "readinessProbe": ready}],
            },
        }

    def container(self, node_id: int, name: str, command: list[str]) -> dict[str, Any]:
        return {
            "name": name,
            "image": self.image,
            "command": command,
            "env": [{"name": "LOG_DIR", "value": "/tmp/kafka-logs"}],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [
                *({"name": f"data-{each}", "mountPath": below(each)} for each in self.numbers(node_id)),
                {"name": "config", "mountPath": "/config"},
                {"name": "tmp", "mountPath": "/tmp"},
                *([{"name": "tls", "mountPath": "/tls"}] if self.tls else []),
            ],
        }

    def bare(self, node_id: int) -> dict[str, Any]:
        """Of any pod with this node's claim."""
        user = {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}
        certificate = {"name": "tls", "secret": {"secretName": self.name(node_id)}}
        return {
            "securityContext": {**user, "seccompProfile": {"type": "RuntimeDefault"}},
            "terminationGracePeriodSeconds": 60,
            "volumes": [
                *(
                    {"name": f"data-{each}", "persistentVolumeClaim": {"claimName": self.claim(node_id, each)}}
                    for each in self.numbers(node_id)
                ),
                {"name": "config", "configMap": {"name": self.name(node_id)}},
                {"name": "tmp", "emptyDir": {}},
                *([certificate] if self.tls else []),
            ],
        }

    def ready(self, node_id: int) -> bool:
        return is_ready(self.gateway.get(POD, self.namespace, self.name(node_id)))

    def volume(self, node_id: int, number: int) -> str:
        return str(self.gateway.get(CLAIM, self.namespace, self.claim(node_id, number))["spec"]["volumeName"])

    def gone(self, name: str) -> None:
        """A pod or a claim that is deleted, once it is away."""
        for kind in (POD, CLAIM):
            found = self.gateway.find(kind, self.namespace, name)
            if found is not None:
                self.gateway.delete(kind, self.namespace, name, uid=found["metadata"]["uid"])
                eventually(f"{name} is gone", partial(self.away, kind, name))

    def away(self, kind: Kind, name: str) -> bool:
        return self.gateway.find(kind, self.namespace, name) is None

    def rename(self, node_id: int) -> None:
        """A pod that does nothing but give each directory its new name."""
        moves = " && ".join(
            f"/bin/busybox mv {directory(node_id, each)} {below(each)}/log" for each in self.numbers(node_id)
        )
        mover = self.container(node_id, "mv", ["/bin/sh", "-c", moves])
        name = f"rename-{node_id}"
        body = {"metadata": {"name": name}, "spec": {**self.bare(node_id), "containers": [mover]}}
        body["spec"]["restartPolicy"] = "Never"
        self.gateway.create(POD, self.namespace, body)

        def done() -> bool:
            phase = self.gateway.get(POD, self.namespace, name)["status"].get("phase")
            return bool(phase == "Succeeded")

        eventually("the directory has its new name", done)
        self.gone(name)


def below(number: int) -> str:
    """Where a volume is mounted."""
    return f"/var/lib/kafka/data-{number}"


def directory(node_id: int, number: int) -> str:
    return f"{below(number)}/kafka-log{node_id}"


def _body(kind: Kind, meta: dict[str, Any], spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": kind.api, "kind": kind.kind, "metadata": meta, "spec": spec, "status": status}


def is_ready(pod: dict[str, Any]) -> bool:
    found = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in found)

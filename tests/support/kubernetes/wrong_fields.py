"""Fields of a KRaftCluster that are refused: (where, value, what the API server says). The operator's own parser is
held to the same list, without an API server (tests/unit/api) and beside one (tests/e2e/test_crd_rules.py).
"""

from __future__ import annotations

from typing import Any

Wrong = tuple[str, Any, str]
POD = "spec.controllers.pod"
PLUGINS = {"name": "plugins", "emptyDir": {}}
AGENT = {"name": "agent", "image": "a:1"}


def _mounting(path: str, name: str = "plugins") -> dict[str, Any]:
    return {"volumes": [PLUGINS], "volumeMounts": [{"name": name, "mountPath": path}]}


PODS: list[Wrong] = [
    (f"{POD}.env", [{"name": "LOG_DIR", "value": "/x"}], "LOG_DIR is the operator's: the operator mounts /tmp"),
    (f"{POD}.env", [{"name": "FORMAT_MODE", "value": "--standalone"}], "FORMAT_MODE is the operator's"),
    (
        f"{POD}.env",
        [{"name": "QUORATE_INSECURE", "value": "true"}],
        "QUORATE_INSECURE is the operator's: use spec.security",
    ),
    (f"{POD}.env", [{"name": "QUORATE_HTTP_LISTENER", "value": "x"}], "QUORATE_HTTP_LISTENER is the operator's"),
    (f"{POD}.env", [{"name": "A"}, {"name": "A"}], "Duplicate value"),
    (f"{POD}.env", [{"name": "1A"}], "should match"),
    (f"{POD}.env", [{"name": "A", "value": "1", "valueFrom": {}}], "value and valueFrom of env exclude each other"),
    (f"{POD}.envFrom", [{}], "exactly one of configMapRef and secretRef is needed in envFrom"),
    (
        "spec.brokerPools.0.pod.envFrom",
        [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}],
        "exactly one of configMapRef and secretRef is needed in envFrom",
    ),
    *((f"{POD}.volumes", [{"name": name, "emptyDir": {}}], "volumes data, config, ledger") for name in ("data", "tls")),
    (f"{POD}.volumes", [{"name": "host", "hostPath": {"path": "/"}}], "hostPath"),
    (f"{POD}.volumes", [{"name": "none"}], "a volume has exactly one source"),
    (f"{POD}.volumes", [{"name": "both", "emptyDir": {}, "secret": {}}], "a volume has exactly one source"),
    (
        f"{POD}.volumes",
        [{"name": "again", "persistentVolumeClaim": {"claimName": "data-demo-controller-1-0"}}],
        "claims data-CLUSTER-GROUP-N-0 hold disks of nodes",
    ),
    (POD, _mounting("/opt/x", "data"), "volumeMounts name volumes of pod.volumes only"),
    *(
        (POD, _mounting(path), "a mountPath must not hide, or reach into, what the operator mounts")
        for path in ("/tmp", "/etc", "/etc/kafka", "/etc/kafka/node/x", "/var/lib/kafka/data", "/opt/kafka")
    ),
    *(
        (POD, _mounting(path), "mountPath in body should match")
        for path in ("/", "/opt/../var/lib/kafka/data", "/opt/x/", "//tmp", "/./tmp")
    ),
    (f"{POD}.sidecars", [{**AGENT, "name": "kafka"}], "containers kafka, inspect, gate, format and seal"),
    (f"{POD}.initContainers", [{**AGENT, "name": "gate"}], "containers kafka, inspect, gate, format and seal"),
    (f"{POD}.sidecars", [{"name": "agent"}], "Required value"),
    (f"{POD}.sidecars", [AGENT, AGENT], "Duplicate value"),
    (POD, {"sidecars": [AGENT], "initContainers": [AGENT]}, "a sidecar and an init container share a name"),
    (f"{POD}.sidecars", [{**AGENT, "ports": [{"containerPort": 9404}]}], "port 9404 and the name http are those"),
    (
        f"{POD}.sidecars",
        [{**AGENT, "ports": [{"containerPort": 9405, "name": "http"}]}],
        "port 9404 and the name http are those",
    ),
    (f"{POD}.sidecars", [{**AGENT, "ports": [{"containerPort": 9093}]}], "has the port of a controller listener"),
    (
        "spec.brokerPools.0.pod.sidecars",
        [{**AGENT, "ports": [{"containerPort": 9092}]}],
        "a sidecar of a pool has the port of a broker listener",
    ),
    (
        f"{POD}.sidecars",
        [{**AGENT, "ports": [{"containerPort": 9405, "hostPort": 9405}]}],
        "restricted Pod Security does not allow hostPort",
    ),
    *(
        (f"{POD}.sidecars", [{**AGENT, "securityContext": {key: True}}], "does not allow privileged containers")
        for key in ("privileged", "allowPrivilegeEscalation")
    ),
    (
        f"{POD}.sidecars",
        [{**AGENT, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        "sidecars see volumes of pod.volumes only",
    ),
    (
        f"{POD}.initContainers",
        [{**AGENT, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        "initContainers see volumes of pod.volumes only",
    ),
    (POD, {"runAs": "Assigned", "securityContext": {"runAsUser": 5}}, "runAs Assigned leaves the user to the platform"),
    (f"{POD}.runAs", "Root", "Unsupported value"),
    (f"{POD}.securityContext", {"runAsUser": 0}, "should be greater than or equal to 1"),
    (f"{POD}.securityContext", {"runAsNonRoot": False}, "runAsNonRoot"),
    (f"{POD}.securityContext", {"seccompProfile": {"type": "Unconfined"}}, "Unsupported value"),
    (f"{POD}.probes", {"startup": {"failureThreshold": 0}}, "should be greater than or equal to 1"),
    (f"{POD}.probes", {"startup": {"httpGet": {"path": "/"}}}, "httpGet"),
]

LIMITED = {"resources": {"limits": {"memory": "1Gi"}}}
JAVA = {"probes": "TCP", **LIMITED}
AGENT_IN_JVM = {"jar": "/opt/a.jar", "port": 9405, "config": "/opt/a.yaml"}


def _pool(**changes: Any) -> dict[str, Any]:
    return {"name": "main", "replicas": 3, "nodeIdRange": {"start": 100, "end": 199}, **changes}


PROCESSES: list[Wrong] = [
    *(
        (f"{POD}.env", [{"name": name, "value": "x"}], f"{name}")
        for name in ("QUORATE_LOG_LEVEL", "KAFKA_LOG4J_OPTS", "KAFKA_HEAP_OPTS", "KAFKA_JMX_OPTS", "JMX_PORT")
    ),
    (f"{POD}.env", [{"name": "KAFKA_LOG4J_OPTS"}], "QUORATE_LOG_LEVEL and KAFKA_LOG4J_OPTS are the operator's"),
    (f"{POD}.env", [{"name": "KAFKA_HEAP_OPTS"}], "KAFKA_HEAP_OPTS is the operator's: use jvm.heap"),
    (f"{POD}.env", [{"name": "JMX_PORT"}], "KAFKA_JMX_OPTS and JMX_PORT are the operator's: use metrics.jmxPort"),
    (f"{POD}.env", [{"name": "EXTRA_ARGS"}], "EXTRA_ARGS is the operator's: use jvm, logging and metrics"),
    ("spec.controllers", {**LIMITED, "jvm": {}}, "controllers: jvm and metrics need an image with a JVM"),
    ("spec.controllers", {"metrics": {"jmxPort": 9999}}, "controllers: jvm and metrics need an image with a JVM"),
    ("spec.brokerPools", [_pool(**LIMITED, jvm={})], "brokerPools: jvm and metrics need an image with a JVM"),
    (
        "spec.controllers.logging",
        {"loggers": {"kafka": "DEBUG"}},
        "controllers: logging.loggers and TRACE need an image",
    ),
    ("spec.controllers.logging", {"level": "TRACE"}, "controllers: logging.loggers and TRACE need an image"),
    ("spec.brokerPools.0.logging", {"level": "TRACE"}, "brokerPools: logging.loggers and TRACE need an image"),
    ("spec.controllers", {"probes": "TCP", "jvm": {}}, "jvm needs heap.size, or resources.limits.memory"),
    ("spec.controllers", {**JAVA, "jvm": {"heap": {"size": "1Gi", "percentOfLimit": 50}}}, "exclude each other"),
    (
        "spec.controllers",
        {**JAVA, "jvm": {"heap": {"size": "1Gi", "percentOfLimit": 50}}},
        "jvm.heap.size and percentOfLimit exclude each other",
    ),
    ("spec.controllers", {**JAVA, "jvm": {"heap": {"percentOfLimit": 95}}}, "less than or equal to 90"),
    ("spec.controllers", {**JAVA, "jvm": {"heap": {"size": "much"}}}, "should match"),
    ("spec.controllers", {**JAVA, "jvm": {"options": ["-Xmx1g"]}}, "use jvm.heap in place of -Xmx and -Xms"),
    ("spec.controllers", {**JAVA, "jvm": {"options": ["-Xlog:gc*:file=/x"]}}, "use jvm.gcLog in place of -Xlog:gc"),
    ("spec.controllers", {**JAVA, "jvm": {"options": ["-javaagent:/x.jar"]}}, "use metrics in place of -javaagent"),
    ("spec.controllers", {**JAVA, "jvm": {"options": ["-Dlog4j2.debug=true"]}}, "use logging in place of -Dlog4j"),
    ("spec.controllers", {**JAVA, "jvm": {"options": ["-Da=b c"]}}, "should match"),
    ("spec.controllers", {**JAVA, "logging": {"loggers": {"a b": "INFO"}}}, "a logger's name is words with dots"),
    ("spec.controllers", {**JAVA, "logging": {"loggers": {"a": "LOUD"}}}, "Unsupported value"),
    ("spec.controllers", {**JAVA, "metrics": {}}, "metrics needs jmxPort or javaAgent"),
    (
        "spec.controllers",
        {**JAVA, "metrics": {"jmxPort": 9405, "javaAgent": AGENT_IN_JVM}},
        "metrics.jmxPort and javaAgent.port are the same",
    ),
    (
        "spec.controllers",
        {**JAVA, "metrics": {"jmxPort": 9404}},
        "port 9404 is that of probes and metrics of Quorate's",
    ),
    ("spec.controllers", {**JAVA, "metrics": {"javaAgent": {**AGENT_IN_JVM, "jar": "x.jar"}}}, "should match"),
    (POD, _mounting("/etc/kafka/logging"), "a mountPath must not hide, or reach into, what the operator mounts"),
]


def _outside(exposure: str = "LoadBalancer", **changes: Any) -> list[dict[str, Any]]:
    outside = {"name": "OUTSIDE", "port": 9094, "exposure": exposure, **changes}
    return [{"name": "PLAINTEXT", "port": 9092, "exposure": "ClusterInternal"}, outside]


def _by_name(names: dict[str, Any], exposure: str = "Ingress", **changes: Any) -> list[dict[str, Any]]:
    return _outside(exposure, passthrough=names, **changes)


def _clients(authentication: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    clients = {"name": "CLIENTS", "port": 9094, "authentication": authentication, **changes}
    return [{"name": "REPLICATION", "port": 9091}, clients]


NAMES = {"bootstrapHost": "kafka.a", "brokerHost": "broker-{nodeID}.a"}
OAUTH = {"jwksURL": "https://id.example/jwks", "issuer": "https://id.example", "audiences": ["kafka"]}
BROKER_LISTENERS = "spec.endpoints.broker"
POLICY = "spec.networkPolicy"
PEER = {"podSelector": {"matchLabels": {"a": "b"}}}
NETWORK: list[Wrong] = [
    (
        BROKER_LISTENERS,
        _outside("ClusterInternal", service={}),
        "belong to an exposure for clients outside, such as NodePort",
    ),
    (
        BROKER_LISTENERS,
        _outside("ClusterInternal", brokers=[{"nodeID": 100}]),
        "belong to an exposure for clients outside",
    ),
    (BROKER_LISTENERS, _outside("ClusterInternal", bootstrapService={}), "service, bootstrapService and brokers of a"),
    (
        BROKER_LISTENERS,
        _outside("NodePort", service={"loadBalancerClass": "a"}),
        "loadBalancerClass and loadBalancerSourceRanges belong to the exposure LoadBalancer",
    ),
    (BROKER_LISTENERS, _outside(service={"loadBalancerSourceRanges": ["anywhere"]}), "should match"),
    (BROKER_LISTENERS, _outside(service={"externalTrafficPolicy": "Near"}), "Unsupported value"),
    (
        BROKER_LISTENERS,
        _outside(service={"annotations": {"kraft.quorate.dev/intent": "x"}}),
        "labels and annotations of Services below kraft.quorate.dev/ and app.kubernetes.io/ belong to the operator",
    ),
    (
        BROKER_LISTENERS,
        _outside(bootstrapService={"labels": {"app.kubernetes.io/name": "x"}}),
        "labels and annotations of Services below",
    ),
    (BROKER_LISTENERS, _outside(brokers=[{"nodeID": 100}, {"nodeID": 100}]), "Duplicate value"),
    (BROKER_LISTENERS, _outside("Ingress"), "passthrough goes with the exposure Ingress or Gateway"),
    (BROKER_LISTENERS, _by_name(NAMES, "Gateway"), "passthrough.parentRef goes with the exposure Gateway"),
    (BROKER_LISTENERS, _by_name({**NAMES, "parentRef": {"name": "a"}}), "parentRef goes with the exposure Gateway"),
    (
        BROKER_LISTENERS,
        _by_name({**NAMES, "ingressClassName": "a", "parentRef": {"name": "a"}}, "Gateway"),
        "passthrough.ingressClassName goes with the exposure Ingress",
    ),
    (BROKER_LISTENERS, _by_name({**NAMES, "parentRef": {}}, "Gateway"), "parentRef.name: Required value"),
    (BROKER_LISTENERS, _outside("NodePort", passthrough=NAMES), "passthrough goes with the exposure Ingress"),
    (BROKER_LISTENERS, _by_name({"brokerHost": "broker-{nodeID}.a"}), "passthrough.bootstrapHost: Required value"),
    (BROKER_LISTENERS, _by_name({**NAMES, "brokerHost": "broker.a"}), "should match"),
    (BROKER_LISTENERS, _by_name({**NAMES, "bootstrapHost": "Kafka.a"}), "should match"),
    (BROKER_LISTENERS, _by_name({**NAMES, "port": 65536}), "less than or equal to 65535"),
    (
        BROKER_LISTENERS,
        _by_name(NAMES, advertisedHost="kafka.a"),
        "take out advertisedHost: brokers behind one address",
    ),
    (
        BROKER_LISTENERS,
        _by_name(NAMES, service={"externalTrafficPolicy": "Local"}),
        "take out service.externalTrafficPolicy",
    ),
    (BROKER_LISTENERS, _by_name(NAMES, tls="Disabled"), "take out tls: Disabled: a passthrough goes by the name"),
    (BROKER_LISTENERS, _clients({"type": "OAuth"}), "oauth goes with authentication.type OAuth, which needs it"),
    (BROKER_LISTENERS, _clients({"type": "Scram", "oauth": OAUTH}), "oauth goes with authentication.type OAuth"),
    (BROKER_LISTENERS, _clients({"type": "OAuth", "oauth": {**OAUTH, "jwksURL": "http://a"}}), "should match"),
    (BROKER_LISTENERS, _clients({"type": "OAuth", "oauth": {**OAUTH, "audiences": []}}), "at least 1 items"),
    (
        BROKER_LISTENERS,
        _clients({"type": "Scram", "principalMappingRules": ["DEFAULT"]}),
        "principalMappingRules go with authentication.type Tls",
    ),
    (BROKER_LISTENERS, _clients({"type": "Tls", "principalMappingRules": ["RULE:a"]}), "should match"),
    (
        BROKER_LISTENERS,
        _clients({"type": "Tls", "sessionLifetime": "1h"}),
        "sessionLifetime goes with authentication.type Scram or OAuth",
    ),
    (
        BROKER_LISTENERS,
        _clients({"type": "Scram", "sessionLifetime": "4s"}),
        "sessionLifetime must lie between 5s and 8760h",
    ),
    (
        BROKER_LISTENERS,
        _clients({"type": "OAuth", "oauth": OAUTH}, tls="Disabled"),
        "authentication needs encryption: take out tls: Disabled of the listener",
    ),
    (POLICY, {"mode": "Sometimes"}, "Unsupported value"),
    (POLICY, {"mode": "Off", "clientPeers": [PEER]}, "networkPolicy.mode Off writes no policy: take the peers out"),
    (POLICY, {"clientPeers": []}, "should have at least 1 items"),
    (POLICY, {"controllerPeers": [{}]}, "a peer is an ipBlock alone"),
    (POLICY, {"metricsPeers": [{**PEER, "ipBlock": {"cidr": "10.0.0.0/8"}}]}, "a peer is an ipBlock alone"),
    ("spec.brokerPools.0.disruptionBudget", {"maxUnavailable": -1}, "should be greater than or equal to 0"),
    *(
        ("spec.rollout.maintenanceWindows", [{"start": "02:00", "duration": "2h", **wrong}], message)
        for wrong, message in (
            ({"days": ["Caturday"]}, "Unsupported value"),
            ({"start": "25:00"}, "should match"),
            ({"duration": "long"}, "should match"),
        )
    ),
]

WRONG_FIELDS: list[Wrong] = [*PODS, *PROCESSES, *NETWORK]

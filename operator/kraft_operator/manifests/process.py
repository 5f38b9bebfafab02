"""What `jvm`, `logging` and `metrics` make of a node's container.

For a JVM all of it is in EXTRA_ARGS, which Apache Kafka's kafka-server-start.sh, and no other of its scripts, puts
before the class on the command line of Java: a tool that somebody runs in the pod takes neither the node's heap nor
its ports. There an option that comes later wins over what the scripts set before (heap, configuration of the log). The
configuration of the log lies beside server.properties in the node's ConfigMap; its digest stands in server.properties,
so that the gate waits for both.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Final

from kraft_operator.api.process import GcLog, Jvm, Logging, Metrics, Process
from kraft_operator.manifests.context import Manifest
from kraft_operator.manifests.tokens import ALLOWED_PROPERTY, ALLOWED_VARIABLE

VARIABLE: Final = "EXTRA_ARGS"
LOGGING_FILE: Final = "log4j2.json"
LOGGING_PATH: Final = "/etc/kafka/logging"
METRICS_PORT_NAME: Final = "metrics"
_MIB: Final = 2**20
_PATTERN: Final = "[%d] %p %m (%c)%n"


def environment(process: Process, *, java: bool, allowed_urls: str = "") -> list[Manifest]:
    """`allowed_urls`: from where keys of tokens are read."""
    if not java:
        level = process.logging.level.value.lower().replace("warn", "warning") if process.logging else ""
        found = {"QUORATE_LOG_LEVEL": level, ALLOWED_VARIABLE: allowed_urls}
        return [{"name": name, "value": value} for name, value in found.items() if value]
    words = [
        *(_jvm(process.jvm) if process.jvm else ()),
        *([f"-Dlog4j2.configurationFile={LOGGING_PATH}/{LOGGING_FILE}"] if process.logging else ()),
        *(_metrics(process.metrics) if process.metrics else ()),
        *([f"-D{ALLOWED_PROPERTY}={allowed_urls}"] if allowed_urls else ()),
    ]
    return [{"name": VARIABLE, "value": " ".join(words)}] if words else []


def ports(process: Process) -> list[Manifest]:
    """JMX is none of them: it does not leave the pod."""
    agent = process.metrics.java_agent if process.metrics else None
    return [{"name": METRICS_PORT_NAME, "containerPort": agent.port, "protocol": "TCP"}] if agent else []


def logging_file(process: Process, *, java: bool) -> str | None:
    """log4j2's configuration, as JSON, or nothing where the image has its own way."""
    return _configuration(process.logging) if java and process.logging else None


def logging_mounts(process: Process, *, java: bool) -> list[Manifest]:
    if logging_file(process, java=java) is None:
        return []
    return [{"name": "config", "mountPath": LOGGING_PATH, "readOnly": True}]


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _jvm(jvm: Jvm) -> list[str]:
    heap = max(1, jvm.heap_bytes // _MIB)
    gc = ["-Xlog:gc*:stdout:time,level,tags"] if jvm.gc_log is GcLog.CONSOLE else []
    return [f"-Xms{heap}m", f"-Xmx{heap}m", *jvm.options, *gc]


def _metrics(metrics: Metrics) -> list[str]:
    found = []
    if metrics.jmx_port is not None:
        prefix = "-Dcom.sun.management.jmxremote"
        port = metrics.jmx_port
        found += [f"{prefix}.port={port}", f"{prefix}.rmi.port={port}", f"{prefix}.host=127.0.0.1"]
        found += [f"{prefix}.authenticate=false", f"{prefix}.ssl=false", "-Djava.rmi.server.hostname=127.0.0.1"]
    if (agent := metrics.java_agent) is not None:
        found.append(f"-javaagent:{agent.jar}={agent.port}:{agent.config}")
    return found


def _configuration(logging: Logging) -> str:
    loggers: dict[str, Any] = {"Root": {"level": logging.level.value, "AppenderRef": {"ref": "console"}}}
    if logging.loggers:
        loggers["Logger"] = [{"name": name, "level": level.value} for name, level in sorted(logging.loggers.items())]
    layout = {"PatternLayout": {"pattern": _PATTERN}}
    appenders = {"Console": {"name": "console", "target": "SYSTEM_OUT", **layout}}
    return json.dumps({"Configuration": {"status": "WARN", "Appenders": appenders, "Loggers": loggers}}, indent=2)

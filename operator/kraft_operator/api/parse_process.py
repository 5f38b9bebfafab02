"""`jvm`, `logging` and `metrics` of a group out of the resource, and whether the image can honour them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kraft_operator.api.pod import shadowed
from kraft_operator.api.process import (
    DEFAULT_HEAP_PERCENT,
    MIN_HEAP,
    GcLog,
    JavaAgent,
    Jvm,
    Level,
    Logging,
    Metrics,
    Process,
)
from kraft_operator.api.reader import InvalidSpec, Reader, quantity

_OPTION: Final = re.compile(r"^-[A-Za-z0-9_.:=+,/@%*#-]{1,511}$")
"""One word: the image's script splits them at blanks."""
_OWNED_OPTIONS: Final = {
    "-Xmx": "use jvm.heap",
    "-Xms": "use jvm.heap",
    "-Xlog:gc": "use jvm.gcLog",
    "-javaagent:": "use metrics.javaAgent",
    "-Dcom.sun.management.jmxremote": "use metrics.jmxPort",
    "-Dlog4j": "use logging",
}
_LOGGER: Final = re.compile(r"^[A-Za-z0-9_$]+(\.[A-Za-z0-9_$]+)*$")
_FILE: Final = re.compile(r"^(/[A-Za-z0-9_@%+-][A-Za-z0-9._@%+-]*)+$")
_LEVELS_OF_OURS: Final = (Level.ERROR, Level.WARN, Level.INFO, Level.DEBUG)


def parse_process(group: Reader, resources: Mapping[str, Any]) -> Process:
    return Process(
        jvm=_jvm(group.child("jvm"), resources) if group.has("jvm") else None,
        logging=_logging(group.child("logging")) if group.has("logging") else None,
        metrics=_metrics(group.child("metrics")) if group.has("metrics") else None,
    )


def check_process(path: str, process: Process, *, java: bool, taken: frozenset[int]) -> Iterator[tuple[str, str]]:
    """What the image cannot honour (`java`: it has a JVM), and ports of the node that metrics would take."""
    ours = "the image has no JVM (probes HTTP is Quorate's own)"
    if process.jvm and not java:
        yield f"{path}.jvm", f"take it out, or say probes TCP: {ours}; resources.limits.memory bounds its memory"
    if process.metrics and not java:
        yield f"{path}.metrics", f"take it out, or say probes TCP: {ours} and serves its metrics at :9404/metrics"
    if process.logging and not java:
        if process.logging.loggers:
            yield f"{path}.logging.loggers", f"take them out, or say probes TCP: {ours} and one level for its whole log"
        if process.logging.level not in _LEVELS_OF_OURS:
            yield f"{path}.logging.level", f"use {', '.join(_LEVELS_OF_OURS)}: {ours}, which knows no {Level.TRACE}"
    for port in process.metrics.ports if process.metrics else ():
        if port in taken:
            yield f"{path}.metrics", f"port {port} belongs to the operator: it is that of a listener or of probes"


def _jvm(jvm: Reader, resources: Mapping[str, Any]) -> Jvm:
    for option in jvm.words("options"):
        if not _OPTION.match(option):
            raise InvalidSpec(jvm.at("options"), f"{option!r} is no option of a JVM in one word")
        for owned, instead in _OWNED_OPTIONS.items():
            if option.startswith(owned):
                raise InvalidSpec(jvm.at("options"), f"{option} belongs to the operator: {instead}")
    return Jvm(_heap(jvm.child("heap"), resources), jvm.words("options"), jvm.choice("gcLog", GcLog, GcLog.OFF))


def _heap(heap: Reader, resources: Mapping[str, Any]) -> int:
    limit = (resources.get("limits") or {}).get("memory")
    if heap.has("size"):
        if heap.has("percentOfLimit"):
            raise InvalidSpec(heap.path, "size and percentOfLimit exclude each other")
        found = quantity(str(heap.values["size"]), heap.at("size"))
    elif limit is None:
        raise InvalidSpec(heap.path, "set heap.size, or resources.limits.memory of which it takes a part")
    else:
        percent = heap.number("percentOfLimit", DEFAULT_HEAP_PERCENT)
        if not 10 <= percent <= 90:
            raise InvalidSpec(heap.at("percentOfLimit"), f"must lie between 10 and 90, not {percent}")
        found = quantity(str(limit), "resources.limits.memory") * percent / 100
    if found < quantity(MIN_HEAP, ""):
        raise InvalidSpec(heap.path, f"a heap has at least {MIN_HEAP}, not {found:.0f} bytes")
    if limit is not None and found > quantity(str(limit), "resources.limits.memory"):
        raise InvalidSpec(heap.at("size"), f"is more than resources.limits.memory, {limit}")
    return int(found)


def _logging(logging: Reader) -> Logging:
    loggers = {}
    for name in logging.child("loggers").values:
        if not _LOGGER.match(name):
            raise InvalidSpec(logging.child("loggers").at(name), "is no name of a logger")
        loggers[name] = logging.child("loggers").choice(name, Level, Level.INFO)
    return Logging(logging.choice("level", Level, Level.INFO), loggers)


def _metrics(metrics: Reader) -> Metrics:
    agent = metrics.child("javaAgent")
    found = Metrics(
        jmx_port=_port(metrics, "jmxPort") if metrics.has("jmxPort") else None,
        java_agent=JavaAgent(_file(agent, "jar"), _port(agent, "port"), _file(agent, "config"))
        if metrics.has("javaAgent")
        else None,
    )
    if not found.ports:
        raise InvalidSpec(metrics.path, "jmxPort or javaAgent is needed")
    if len(set(found.ports)) < len(found.ports):
        raise InvalidSpec(metrics.path, "jmxPort and javaAgent.port are the same")
    return found


def _port(values: Reader, name: str) -> int:
    port = values.number(name)
    if not 1024 <= port <= 65535:
        raise InvalidSpec(values.at(name), f"must lie between 1024 and 65535, not {port}")
    return port


def _file(values: Reader, name: str) -> str:
    path = values.text(name)
    if not _FILE.match(path):
        raise InvalidSpec(values.at(name), f"{path!r} is no absolute path without '..'")
    if (owned := shadowed(path)) is not None:
        raise InvalidSpec(values.at(name), f"{path} lies in {owned}, which belongs to the operator")
    return path

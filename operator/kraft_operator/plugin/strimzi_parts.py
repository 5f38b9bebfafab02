"""Parts of Strimzi's resources in the words of a KRaftCluster: storage, pods, JVM, windows.

`left_out` gets the path and the reason of whatever has no place, `changed` a line for what is otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kraft_operator.api.pod import OWNED_ENVIRONMENT, PROBE_FIELDS, SECURITY_FIELDS
from kraft_operator.plugin.taking import Taken

Object = Mapping[str, Any]
LeftOut = list[tuple[str, str]]
NO_PLACE: Final = "has no place in a KRaftCluster"
DAYS: Final = {"MON": "Monday", "TUE": "Tuesday", "WED": "Wednesday", "THU": "Thursday", "FRI": "Friday",
               "SAT": "Saturday", "SUN": "Sunday"}  # fmt: skip
LEVELS: Final = {"ALL": "TRACE", "FATAL": "ERROR", "OFF": "ERROR"}
_CRON: Final = re.compile(r"^\* \* ([0-9]{1,2})-([0-9]{1,2}) [?*] \* ([A-Z,?*]+)( \*)?$")
_MEMORY: Final = re.compile(r"^([0-9]+)([kKmMgG])?$")


class NotConvertible(ValueError):
    """What keeps the whole from being converted, the remedy first."""


def volumes_of(asked: Object) -> list[dict[str, Any]]:
    """What a pool's `storage` names, the volume with the metadata log first."""
    if asked.get("type") != "jbod":
        return [dict(asked)] if asked else []
    found = [dict(each) for each in asked.get("volumes") or ()]
    return sorted(found, key=lambda each: (each.get("kraftMetadata") != "shared", each.get("id", 0)))


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in values.items() if each not in (None, {}, [])}


def storage(asked: Object, where: str, left_out: LeftOut, changed: list[str]) -> tuple[dict[str, Any], bool]:
    """The volumes, and whether they go with the cluster. The first one has the metadata log."""
    taken = Taken(asked, "spec.storage")
    kind = taken.take("type")
    taken.take("volumes")
    left_out += [(f"{where} {path}", NO_PLACE) for path, _ in (taken.left() if kind == "jbod" else ())]
    claims = [each for each in volumes_of(asked) if each.get("type") == "persistent-claim"]
    if not claims:
        changed.append(f"{where}: storage {kind} is a volume of 10Gi here: disks have an identity and stay")
        return {"size": "10Gi"}, True
    first, delete = _volume(claims[0], where, left_out)
    further = [(f"v{each.get('id', number)}", *_volume(each, where, left_out)) for number, each in enumerate(claims)][
        1:
    ]
    found = first | ({"volumes": [{"name": name, **each} for name, each, _ in further]} if further else {})
    return found, delete and all(each for _, _, each in further)


def _volume(asked: Object, where: str, left_out: LeftOut) -> tuple[dict[str, Any], bool]:
    taken = Taken(asked, "spec.storage")
    for name in ("type", "id", "kraftMetadata"):
        taken.take(name)
    found = given({"size": taken.take("size"), "storageClassName": taken.take("class")})
    if labels := taken.take("selector"):
        found["selector"] = {"matchLabels": dict(labels)}
    delete = bool(taken.take("deleteClaim"))
    left_out += [(f"{where} {path}", NO_PLACE) for path, _ in taken.left()]
    return found, delete


def group(asked: Object, where: str, left_out: LeftOut) -> dict[str, Any]:
    """Resources, JVM, log and pods of a pool."""
    found: dict[str, Any] = {}
    resources = asked.get("resources")
    if resources:
        found["resources"] = {key: dict(resources[key]) for key in ("requests", "limits") if resources.get(key)}
    if asked.get("jvmOptions"):
        machine = jvm(asked["jvmOptions"], where, left_out)
        limited = "memory" in ((resources or {}).get("limits") or {})
        if machine.get("heap") or limited:
            found["jvm"] = machine
        else:
            left_out.append((f"{where} jvmOptions", "name -Xmx, or a memory limit of which the heap takes half"))
    if asked.get("jmxOptions") is not None:
        found["metrics"] = {"jmxPort": 9999}
    if logging := _logging(asked.get("logging") or {}, where, left_out):
        found["logging"] = logging
    if pod := _pod(asked, where, left_out):
        found["pod"] = pod
    return found


def jvm(asked: Object, where: str, left_out: LeftOut) -> dict[str, Any]:
    taken = Taken(asked, "spec.jvmOptions")
    found: dict[str, Any] = {}
    taken.take("-Xms")
    if (most := taken.take("-Xmx")) is not None and (match := _MEMORY.match(str(most))):
        unit = {"k": "Ki", "m": "Mi", "g": "Gi"}.get((match.group(2) or "").lower(), "")
        found["heap"] = {"size": f"{match.group(1)}{unit}"}
    options = []
    for key, value in (taken.take("-XX") or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        switch = {"true": f"-XX:+{key}", "false": f"-XX:-{key}"}.get(text)
        options.append(switch or f"-XX:{key}={text}")
    options += [f"-D{each['name']}={each['value']}" for each in taken.take("javaSystemProperties") or []]
    if options:
        found["options"] = options
    if taken.take("gcLoggingEnabled"):
        found["gcLog"] = "Console"
    left_out += [(f"{where} {path}", NO_PLACE) for path, _ in taken.left()]
    return found


def _logging(asked: Object, where: str, left_out: LeftOut) -> dict[str, Any]:
    if asked.get("type") != "inline":
        if asked:
            left_out.append((f"{where} logging", "a ConfigMap with a configuration of log4j: say levels in logging"))
        return {}
    found: dict[str, Any] = {"loggers": {}}
    names: dict[str, dict[str, str]] = {}
    for key, value in (asked.get("loggers") or {}).items():
        level = str(value).split(",")[0].strip().upper()
        level = LEVELS.get(level, level)
        if key in ("rootLogger.level", "kafka.root.logger.level", "log4j.rootLogger"):
            found["level"] = level
        elif key.startswith("log4j.logger."):
            found["loggers"][key.removeprefix("log4j.logger.")] = level
        elif match := re.match(r"^logger\.([^.]+)\.(name|level)$", key):
            names.setdefault(match.group(1), {})[match.group(2)] = str(value)
        else:
            left_out.append((f"{where} logging.loggers[{key}]", "only levels of loggers have a place"))
    for each in names.values():
        if "name" in each and "level" in each:
            found["loggers"][each["name"]] = each["level"].upper()
    return given(found)


def _pod(asked: Object, where: str, left_out: LeftOut) -> dict[str, Any]:
    taken = Taken(asked.get("template") or {}, "template")
    taken.take("podDisruptionBudget")
    found = {key: taken.take(f"pod.metadata.{key}") for key in ("labels", "annotations")}
    for key in ("affinity", "tolerations", "topologySpreadConstraints", "priorityClassName", "hostAliases", "volumes"):
        found[key] = taken.take(f"pod.{key}")
    found["terminationGracePeriodSeconds"] = taken.take("pod.terminationGracePeriodSeconds")
    security = taken.take("pod.securityContext") or {}
    found["securityContext"] = {key: each for key, each in security.items() if key in SECURITY_FIELDS}
    for key in security:
        if key not in SECURITY_FIELDS:
            left_out.append((f"{where} template.pod.securityContext.{key}", "pods satisfy restricted Pod Security"))
    environment = taken.take("kafkaContainer.env") or []
    found["env"] = [dict(each) for each in environment if each.get("name") not in OWNED_ENVIRONMENT]
    for each in environment:
        if (why := OWNED_ENVIRONMENT.get(str(each.get("name")))) is not None:
            left_out.append((f"{where} template.kafkaContainer.env[{each['name']}]", why))
    found["volumeMounts"] = taken.take("kafkaContainer.volumeMounts")
    probes = {}
    for name, key in (("livenessProbe", "liveness"), ("readinessProbe", "readiness")):
        probe = asked.get(name) or {}
        probes[key] = {each: value for each, value in probe.items() if each in PROBE_FIELDS}
        left_out += [(f"{where} {name}.{each}", NO_PLACE) for each in probe if each not in PROBE_FIELDS]
    found["probes"] = given(probes)
    left_out += [(f"{where} {path}", NO_PLACE) for path, _ in taken.left()]
    return given(found)


def windows(asked: Sequence[str], left_out: LeftOut) -> list[dict[str, Any]]:
    """Of Quartz's expressions those that name hours and days of the week."""
    found = []
    for text in asked:
        match = _CRON.match(text.strip())
        begin, end = (int(match.group(1)), int(match.group(2))) if match else (0, 0)
        days = match.group(3).split(",") if match else []
        every = days in (["?"], ["*"])
        if match is None or not begin <= end <= 23 or not (every or set(days) <= set(DAYS)):
            left_out.append((f"Kafka spec.maintenanceTimeWindows[{text}]", "say it as days, start and duration"))
            continue
        window: dict[str, Any] = {"start": f"{begin:02}:00", "duration": f"{end - begin + 1}h"}
        found.append(window if every else {"days": [DAYS[each] for each in days], **window})
    return found

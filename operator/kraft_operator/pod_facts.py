"""From raw objects to the planner's facts: pure, forgiving about what is absent, never guessing.

A guard's termination message counts only if it parses and names this very pod: a status may be older than the pod it is
read from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.reader import quantity
from kraft_operator.api.storage import Storage
from kraft_operator.ephemeral import disk_of
from kraft_operator.last_words import last_words
from kraft_operator.manifests.further import volumes_in
from kraft_operator.manifests.helpers import LABEL_HELPER, LABEL_HELPER_NODE, LABEL_OPERATION, OF_ARCHIVE
from kraft_operator.manifests.nodes import template_of
from kraft_operator.observed import MAIN, Claim, Helper, NodeSet, Pod, Trouble
from storage_guard.copies import CopyReport
from storage_guard.formats import GRANT_ANNOTATION, RACK_ANNOTATION, BadFormat, Grant, Report, of_volume

Object = Mapping[str, Any]
HARMLESS: Final = frozenset({"PodInitializing", "ContainerCreating", ""})
NUDGE_ANNOTATION: Final = f"{names.GROUP}/nudge"
IDENTITY_KEYS: Final = (
    "cluster-id",
    "node-id",
    "directory-id",
    "nonce",
    "pvc-uid",
    "endpoint",
    "generation",
    "recovery",
    "memory",
)


def node_id_of(item: Object) -> int | None:
    """The node that an object belongs to, by its label; None for objects of the whole cluster."""
    text = (item["metadata"].get("labels") or {}).get(names.LABEL_NODE_ID, "")
    return int(text) if text.isascii() and text.isdigit() else None


def claim(item: Object, node_id: int) -> Claim:
    meta = item["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    marks = {key: annotations[f"{names.GROUP}/{key}"] for key in IDENTITY_KEYS if f"{names.GROUP}/{key}" in annotations}
    return Claim(
        name=meta["name"],
        uid=meta["uid"],
        version=meta.get("resourceVersion", ""),
        node_id=node_id,
        role=labels.get(names.LABEL_ROLE, ""),
        pool=labels.get(names.LABEL_POOL, ""),
        volume=item["spec"].get("volumeName", "") if (item.get("status") or {}).get("phase") == "Bound" else "",
        terminating="deletionTimestamp" in meta,
        identity=marks,
        storage_class=item["spec"].get("storageClassName") or "",
        requested=_bytes(((item["spec"].get("resources") or {}).get("requests") or {}).get("storage")),
        capacity=_bytes(((item.get("status") or {}).get("capacity") or {}).get("storage")),
        resizing=_resizing(item.get("status") or {}),
        further=labels.get(names.LABEL_VOLUME, ""),
        owned=any(each.get("kind") == names.KIND for each in meta.get("ownerReferences") or ()),
    )


def archive_claim(item: Object | None) -> Claim | None:
    return claim(item, names.ARCHIVE_NODE) if item is not None else None


def _bytes(text: object) -> float:
    return quantity(str(text), "storage") if text else 0.0


def _resizing(status: Object) -> str:
    """Kubernetes' conditions about a growth, in its words."""
    found = [each for each in status.get("conditions") or () if "Resiz" in each["type"]]
    return "; ".join(f"{each['type']}: {each['message']}" if each.get("message") else each["type"] for each in found)


def node_set(item: Object, node_id: int) -> NodeSet:
    meta, status = item["metadata"], item.get("status") or {}
    labels = meta.get("labels") or {}
    looked = status.get("observedGeneration") == meta.get("generation")
    made_of = status.get("updateRevision", "") if looked else ""
    return NodeSet(
        name=meta["name"],
        uid=meta["uid"],
        node_id=node_id,
        role=labels.get(names.LABEL_ROLE, ""),
        pool=labels.get(names.LABEL_POOL, ""),
        replicas=item["spec"].get("replicas", 1),
        revision=made_of and (template_of(item) or made_of),
        made_of=made_of,
        terminating="deletionTimestamp" in meta,
        target=(meta.get("annotations") or {}).get(names.ANNOTATION_REVISION, ""),
        volume_size=_template_size(item["spec"].get("volumeClaimTemplates") or ()),
        volume_kind=template_kind(item["spec"].get("volumeClaimTemplates") or ()),
        volumes=volumes_in((item["spec"].get("template") or {}).get("spec") or {}),
    )


def template_kind(templates: Sequence[Object]) -> tuple[str, str]:
    """Of the first one, as `Storage.kind` has it."""
    spec = templates[0]["spec"] if templates else {}
    return Storage("", spec.get("storageClassName"), spec.get("selector") or {}).kind


def _template_size(templates: Sequence[Object]) -> str:
    requests = [((each["spec"].get("resources") or {}).get("requests") or {}).get("storage", "") for each in templates]
    return str(requests[0]) if requests else ""


def pod(item: Object, node_id: int) -> Pod:
    meta, status = item["metadata"], item.get("status") or {}
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    init = {each["name"]: each for each in status.get("initContainerStatuses") or ()}
    main = {each["name"]: each for each in status.get("containerStatuses") or ()}
    started = main.get(MAIN, {}).get("state", {})
    return Pod(
        name=meta["name"],
        uid=meta["uid"],
        node_id=node_id,
        role=labels.get(names.LABEL_ROLE, ""),
        pool=labels.get(names.LABEL_POOL, ""),
        claim=_claim_name(item),
        node=item["spec"].get("nodeName", ""),
        ready=any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ()),
        terminating="deletionTimestamp" in meta,
        revision=annotations.get(names.ANNOTATION_TEMPLATE) or labels.get("controller-revision-hash", ""),
        made_of=labels.get("controller-revision-hash", ""),
        gate_waits="running" in init.get("gate", {}).get("state", {}),
        gate_passed=_succeeded(init.get("gate", {})),
        main_started="running" in started or "terminated" in started or bool(main.get(MAIN, {}).get("restartCount")),
        inspect=_report(init.get("inspect", {}), meta["uid"]),
        seal=_report(init.get("seal", {}), meta["uid"]),
        grant_nonce=_nonce(annotations.get(GRANT_ANNOTATION)),
        rack=annotations.get(RACK_ANNOTATION),
        nudges=_number(annotations.get(NUDGE_ANNOTATION, "")),
        trouble=next(troubles(status), None),
        port=next(_ports(item), 0),
        last_words=_last_words(main.get(MAIN, {})) or _last_words(init.get("format", {})),
        owner=next((each["uid"] for each in meta.get("ownerReferences") or () if each.get("controller")), ""),
        volumes=(further := volumes_in(item["spec"])),
        grants={
            each: nonce for each in further if (nonce := _nonce(annotations.get(of_volume(GRANT_ANNOTATION, each))))
        },
    )


def _last_words(status: Object) -> str:
    """A container that has failed may wait to be started again, or be running again."""
    for state in (status.get("state") or {}, status.get("lastState") or {}):
        ended = state.get("terminated") or {}
        if ended.get("exitCode"):
            return last_words(str(ended.get("message", "")))
    return ""


def _ports(item: Object) -> Iterator[int]:
    """Of the listeners, in their order."""
    for container in item["spec"].get("containers") or ():
        if container["name"] == MAIN:
            yield from (
                each["containerPort"]
                for each in container.get("ports") or ()
                if each.get("name") != names.HTTP_PORT_NAME
            )


def owners(item: Object | None) -> tuple[str, ...]:
    owners = (item or {"metadata": {}})["metadata"].get("ownerReferences") or ()
    return tuple(owner["uid"] for owner in owners if owner.get("kind") == names.KIND)


def is_helper(item: Object) -> bool:
    return LABEL_HELPER in (item["metadata"].get("labels") or {})


def helper(item: Object) -> Helper:
    """A helper pod of a recovery, and what it left when it ended."""
    meta, status = item["metadata"], item.get("status") or {}
    labels = meta.get("labels") or {}
    ended = next((each.get("state", {}).get("terminated") for each in status.get("containerStatuses") or ()), None)
    line = (ended or {}).get("message", "") or status.get("message", "")
    report = None
    failed = status.get("phase") == "Failed" or (ended is not None and ended.get("exitCode") != 0)
    if ended is not None and not failed:
        try:
            report = CopyReport.from_json(line)
        except BadFormat as error:
            failed, line = True, str(error)
    return Helper(
        name=meta["name"],
        uid=meta["uid"],
        what=labels[LABEL_HELPER],
        node_id=helped(labels.get(LABEL_HELPER_NODE, "")),
        operation=labels.get(LABEL_OPERATION, ""),
        failed=failed,
        line=line if failed else "",
        report=report,
        trouble=next((f"{each.reason}: {each.message}" for each in troubles(status)), ""),
    )


def _claim_name(item: Object) -> str:
    for volume in item["spec"].get("volumes") or ():
        if volume["name"] == "data" and "persistentVolumeClaim" in volume:
            return str(volume["persistentVolumeClaim"]["claimName"])
        if volume["name"] == "data" and "emptyDir" in volume:
            return disk_of(item["metadata"]["name"])
    return ""


def _succeeded(status: Object) -> bool:
    return bool(status.get("state", {}).get("terminated", {}).get("exitCode", -1) == 0)


def _report(status: Object, pod_uid: str) -> Report | None:
    ended = status.get("state", {}).get("terminated")
    if not ended or ended.get("exitCode") != 0:
        return None
    try:
        report = Report.from_json(ended.get("message", ""))
    except BadFormat:
        return None
    return report if report.pod_uid == pod_uid else None


def helped(label: str) -> int:
    """Whose copy a helper is about."""
    return names.ARCHIVE_NODE if label == OF_ARCHIVE else _number(label)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _nonce(annotation: str | None) -> str | None:
    if annotation is None:
        return None
    try:
        return Grant.from_json(annotation).nonce
    except BadFormat:
        return ""


def troubles(status: Object) -> Iterator[Trouble]:
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False" and each.get("reason") == "Unschedulable":
            yield Trouble("Unschedulable", each.get("message", ""))
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = each.get("state", {}).get("waiting") or {}
        if waiting.get("reason", "") not in HARMLESS:
            last = (each.get("lastState") or {}).get("terminated") or {}
            yield Trouble(waiting["reason"], _steady(waiting.get("message", ""), last), each["name"])


def _steady(message: str, last: Object) -> str:
    """Without what changes by itself: the length of a back-off, container ids."""
    text = (
        message.partition("back-off ")[0] + "the container ends again and again" if "back-off " in message else message
    )
    exit_code = last.get("exitCode")
    return f"{text} (exit code {exit_code})" if exit_code is not None else text

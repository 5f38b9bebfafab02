"""`storage-guard survey | recover | set-aside`: a pod's one container, which ends with one JSON line or with a reason
why not.

What it is asked for comes in environment variables that `kraft_operator.manifests.helpers` sets. It never waits and
never guesses: what it cannot read, or what is not as it was when the order was written, ends it with exit code 1 and a
sentence.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem
from storage_guard.archived import Point, survey_archive
from storage_guard.copies import CopyReport, Helper
from storage_guard.finding import log_directory_below
from storage_guard.formats import BadFormat
from storage_guard.recover import Order, RecoveryRefused, recover, set_aside
from storage_guard.survey import survey


def help_out(filesystem: FileSystem, what: Helper, values: Mapping[str, str], now: int, date: str) -> tuple[bool, str]:
    """Whether it succeeded, and the line to leave."""
    try:
        return True, _done(filesystem, what, values, now, date).to_json()
    except (OSError, StorageError, RecoveryRefused, BadFormat, KeyError, ValueError) as error:
        return False, (str(error) or repr(error))[:1000]


def _done(filesystem: FileSystem, what: Helper, values: Mapping[str, str], now: int, date: str) -> CopyReport:
    if what is Helper.SURVEY and "POINT" in values:
        point = Point.parse(values["POINT"])
        return survey_archive(filesystem, values["LOG_DIRECTORY"], values["ARCHIVE_OF"], point)
    if what is Helper.SURVEY and "SEARCH" in values:
        directory = log_directory_below(filesystem, values["SEARCH"])
    else:
        directory = values["LOG_DIRECTORY"]
    match what:
        case Helper.SURVEY:
            points = tuple(int(each) for each in values.get("POINTS", "").split(",") if each)
            return survey(filesystem, directory, int(values.get("START", "0")), points)
        case Helper.RECOVER:
            order = Order(
                cluster_id=values["CLUSTER_ID"],
                node_id=int(values["NODE_ID"]),
                old_generation=int(values["GENERATION"]),
                directory_id=values["DIRECTORY_ID"],
                nonce=values["NONCE"],
                epoch=int(values["EPOCH"]),
                end=int(values["END"]),
                last_epoch=int(values["LAST_EPOCH"]),
                listener=values["LISTENER"],
                host=values["HOST"],
                port=int(values["PORT"]),
                beside=tuple(_listener(each) for each in values.get("BESIDE", "").split(",") if each),
                cut="CUT" in values,
            )
            return recover(
                filesystem, values["SOURCE"], directory, order=order, pod_uid=values["POD_UID"], now=now, date=date
            )
        case Helper.SET_ASIDE:
            return set_aside(filesystem, directory, int(values["GENERATION"]))


def _listener(text: str) -> tuple[str, str, int]:
    name, _, place = text.partition("://")
    host, _, port = place.rpartition(":")
    return name, host, int(port)

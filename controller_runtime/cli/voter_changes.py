"""The two commands of `kafka-metadata-quorum` that change who votes.

A controller is added by the properties file that it runs with: node id, advertised controller listeners and, through
its metadata directory, the directory id. So what is added is what stands on that machine. A controller is removed by
node id and directory id, never by node id alone: the directory that was lost is another voter than the one that took
its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from controller_runtime.cli.bootstrap import BadCommand, Bootstrap
from controller_runtime.cli.java_errors import parse_uuid
from controller_runtime.identifiers import DirectoryId, Endpoint, NodeId

_LISTENER: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_NOT_A_CONTROLLER: Final = "Is this a valid controller configuration file?"


async def add(bootstrap: Bootstrap, *, dry_run: bool) -> str:
    """Add the controller whose properties are the command's; the line that says so."""
    node_id = _node_id(bootstrap.settings)
    directory_id = _directory_id(_metadata_directory(bootstrap.settings))
    listeners = controller_listeners(bootstrap.settings)
    if not dry_run:
        async with bootstrap.admin() as admin:
            await admin.add_voter(node_id, directory_id, listeners)
    verb = "DRY RUN of adding" if dry_run else "Added"
    where = ", ".join(f"{name}://{endpoint}" for name, endpoint in listeners.items())
    return f"{verb} controller {node_id} with directory id {directory_id} and endpoints: {where}"


async def remove(bootstrap: Bootstrap, node_id: int, directory: str, *, dry_run: bool) -> str:
    if node_id < 0:
        raise BadCommand(f"Invalid negative --controller-id: {node_id}")
    try:
        directory_id = DirectoryId(parse_uuid(directory))
    except ValueError as error:
        raise BadCommand(f"Failed to parse --controller-directory-id: {error}") from error
    if not dry_run:
        async with bootstrap.admin() as admin:
            await admin.remove_voter(NodeId(node_id), directory_id)
    verb = "DRY RUN of removing " if dry_run else "Removed "
    return f"{verb} KRaft controller {node_id} with directory id {directory_id}"


def _node_id(settings: Mapping[str, str]) -> NodeId:
    if "node.id" not in settings:
        raise BadCommand(f"node.id not found in configuration file. {_NOT_A_CONTROLLER}")
    text = settings["node.id"]
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise BadCommand(f'For input string: "{text}"')
    if int(text) < 0:
        raise BadCommand(f"node.id was negative in configuration file. {_NOT_A_CONTROLLER}")
    if "controller" not in settings.get("process.roles", ""):
        raise BadCommand(f"process.roles did not contain 'controller' in configuration file. {_NOT_A_CONTROLLER}")
    return NodeId(int(text))


def _metadata_directory(settings: Mapping[str, str]) -> str:
    if "metadata.log.dir" in settings:
        return settings["metadata.log.dir"]
    if "log.dirs" in settings:
        return settings["log.dirs"].split(",")[0]
    raise BadCommand(f"Neither metadata.log.dir nor log.dirs were found. {_NOT_A_CONTROLLER}")


def _directory_id(directory: str) -> DirectoryId:
    from controller_runtime.storage.filesystem import OsFileSystem
    from controller_runtime.storage.meta_properties import load_ensemble

    ensemble = load_ensemble(OsFileSystem(), [directory], directory)
    found = ensemble.formatted.get(directory)
    if found is None and directory in ensemble.errors and "meta.properties" in ensemble.errors[directory]:
        raise BadCommand(f"No directory id found in {directory}")
    if found is None:
        raise BadCommand(f"Unable to read meta.properties from {directory}")
    if found.directory_id is None:
        raise BadCommand(f"No directory id found in {directory}")
    return found.directory_id


def controller_listeners(settings: Mapping[str, str]) -> dict[str, Endpoint]:
    """Each controller listener where others reach it: as advertised, else as it listens."""
    listeners = _listeners(settings.get("listeners", "")) | _listeners(settings.get("advertised.listeners", ""))
    if "controller.listener.names" not in settings:
        raise BadCommand(f"controller.listener.names was not found. {_NOT_A_CONTROLLER}")
    found: dict[str, Endpoint] = {}
    for name in settings["controller.listener.names"].upper().split(","):
        if name not in listeners:
            raise BadCommand(f"Cannot find information about controller listener name: {name}")
        found[name] = listeners[name]
    return found


def _listeners(text: str) -> dict[str, Endpoint]:
    found: dict[str, Endpoint] = {}
    for entry in (part.strip() for part in text.split(",")):
        if not entry:
            continue
        match = _LISTENER.fullmatch(entry)
        if match is None:
            raise BadCommand(f"Unable to parse {entry} to a broker endpoint")
        found[match[1].upper()] = Endpoint(match[2] or "localhost", int(match[3]))
    return found

"""The list of `kafka-storage format --initial-controllers`: its grammar, and errors in Kafka's words."""

from __future__ import annotations

from controller_runtime.identifiers import DirectoryId, Endpoint, NodeId, Uuid
from controller_runtime.storage.formatting import InitialVoter


class StorageToolError(Exception):
    """What was asked for cannot be done; one line for stderr, exit code 1."""


class Uncaught(StorageToolError):
    """Where Kafka's own tool ends in an uncaught exception: the same line."""

    def __init__(self, exception: str, message: str) -> None:
        super().__init__(f'Exception in thread "main" {exception}: {message}')


def parse_initial_controllers(text: str) -> list[InitialVoter]:
    """Read `id@host:port:directory,…`; complaints are those of Kafka's DynamicVoters."""
    voters: dict[NodeId, InitialVoter] = {}
    for part in filter(None, text.strip().split(",")):
        voter = _parse_voter(part.strip())
        if voter.node_id in voters:
            raise illegal(f"Node id {voter.node_id} was specified more than once.")
        voters[voter.node_id] = voter
    if not voters:
        raise illegal("No voters given.")
    return list(voters.values())


def _parse_voter(text: str) -> InitialVoter:
    node, at, rest = text.partition("@")
    if not at:
        raise illegal("No @ found in dynamic voter string.")
    if not node:
        raise illegal("Invalid @ at beginning of dynamic voter string.")
    node_id = _int32(node)
    if node_id is None:
        raise illegal("Failed to parse node id in dynamic voter string.")
    if node_id < 0:
        raise illegal(f"Invalid negative node id {node_id} in dynamic voter string.")
    if not rest:
        raise illegal("No hostname found after node id.")
    host, rest = _split_host(rest)
    if not rest.startswith(":"):
        raise illegal("Port section must start with a colon.")
    port, colon, directory = rest[1:].partition(":")
    if not colon:
        raise illegal("No colon following port could be found.")
    number = _int32(port)
    if number is None:
        raise illegal("Failed to parse port in dynamic voter string.")
    if not 0 <= number <= 65535:
        raise illegal(f"Invalid port {number} in dynamic voter string.")
    try:
        directory_id = DirectoryId(Uuid.parse(directory))
    except ValueError as error:
        raise illegal("Failed to parse directory ID in dynamic voter string.") from error
    return InitialVoter(NodeId(node_id), directory_id, Endpoint(host, number))


def _int32(text: str) -> int | None:
    """As Java's Integer.parseInt: a sign, then digits."""
    if len(text) > 1000 or not text[text[:1] in ("+", "-") :].isdecimal():
        return None
    number = int(text)
    return number if -(2**31) <= number < 2**31 else None


def _split_host(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket:
            raise illegal("Hostname began with left bracket, but no right bracket was found.")
        return host, rest
    host, colon, rest = text.partition(":")
    if not colon:
        raise illegal("No colon following hostname could be found.")
    return host, colon + rest


def illegal(message: str) -> Uncaught:
    return Uncaught("java.lang.IllegalArgumentException", message)

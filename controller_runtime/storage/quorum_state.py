"""`quorum-state`: the promise not to vote twice, as Apache Kafka writes it.

One line of JSON without a newline. Version 0 belongs to kraft.version 0 and lists the static voters; version 1 belongs
to kraft.version 1 and names the directory that was voted for. -1 stands for nobody, 22 letters A for no directory. The
caller decides the version; an upgrade of kraft.version leaves the file as it is until the next write.
"""

from __future__ import annotations

import json
from typing import Any, Final

from controller_runtime.identifiers import NO_DIRECTORY, DirectoryId, Epoch, NodeId, Uuid
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.small_files import write_atomically
from controller_runtime.values import dataclass

QUORUM_STATE: Final = "quorum-state"
_NOBODY: Final = -1


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The file's content. `static_voters` exists in version 0 only, `voted_directory` in version 1 only."""

    epoch: Epoch
    leader_id: NodeId | None = None
    voted_id: NodeId | None = None
    voted_directory: DirectoryId = NO_DIRECTORY
    static_voters: tuple[NodeId, ...] = ()
    version: int = 1


def encode_quorum_state(state: QuorumState) -> bytes:
    leader = _NOBODY if state.leader_id is None else state.leader_id
    voted = _NOBODY if state.voted_id is None else state.voted_id
    fields: dict[str, Any]
    if state.version == 0:
        fields = {
            "clusterId": "",
            "leaderId": leader,
            "leaderEpoch": state.epoch,
            "votedId": voted,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in state.static_voters],
            "data_version": 0,
        }
    else:
        fields = {
            "leaderId": leader,
            "leaderEpoch": state.epoch,
            "votedId": voted,
            "votedDirectoryId": str(state.voted_directory),
            "data_version": 1,
        }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_quorum_state(data: bytes, path: str) -> QuorumState:
    """Read either version. Raises `CorruptFile`: a state that cannot be read must not be taken for no promise."""
    try:
        fields = json.loads(data)
        version = fields["data_version"]
        if version not in (0, 1):
            raise CorruptFile(path, f"data_version {version} is not known")
        voted_id = _node(fields, "votedId")
        voted_directory = DirectoryId(Uuid.parse(fields.get("votedDirectoryId", str(NO_DIRECTORY))))
        if voted_id is None and voted_directory != NO_DIRECTORY:
            raise CorruptFile(path, f"a vote for directory {voted_directory} of no node")
        return QuorumState(
            epoch=Epoch(_integer(fields, "leaderEpoch")),
            leader_id=_node(fields, "leaderId"),
            voted_id=voted_id,
            voted_directory=voted_directory,
            static_voters=tuple(NodeId(_integer(voter, "voterId")) for voter in fields.get("currentVoters") or ()),
            version=version,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFile(path, f"not a quorum state: {error!r}") from error


def load_quorum_state(filesystem: FileSystem, directory: str) -> QuorumState | None:
    """The state of a metadata log directory; None when it has none yet."""
    path = join(directory, QUORUM_STATE)
    if not filesystem.exists(path):
        return None
    return decode_quorum_state(read_whole(filesystem, path), path)


def save_quorum_state(filesystem: FileSystem, directory: str, state: QuorumState) -> None:
    """Return when the state is durable."""
    write_atomically(filesystem, join(directory, QUORUM_STATE), encode_quorum_state(state))


def _integer(fields: dict[str, Any], name: str) -> int:
    value = fields[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, not an integer")
    return value


def _node(fields: dict[str, Any], name: str) -> NodeId | None:
    value = _integer(fields, name)
    if value < _NOBODY:
        raise ValueError(f"{name} is {value}, no node has such an id")
    return None if value == _NOBODY else NodeId(value)

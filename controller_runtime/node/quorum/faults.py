"""Who pays when handling an event raises: the rule, stated once.

- A request pays for what it provokes while it is decoded, decided, encoded, forwarded or answered, whatever the
  exception: it is counted, said in one line without its bytes, and answered with UNKNOWN_SERVER_ERROR. What was decided
  for it leaves no trace.
- A message of a peer pays with its connection or call, while nothing of raft's state has changed (`Quorum.mark`). A
  message that is lost, or comes twice, is what raft is made for.
- The active controller that fails at its own work (a batch, the fencing of brokers) gives up leading, as Apache Kafka's
  does.
- The node stops, `NodeFault`, for bytes of its log that cannot be replayed, for a disk that fails, and once raft's
  state began to change.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.storage.errors import StorageError


class NodeFault(Exception):
    """Going on could break a promise."""


class UnreadableLog(NodeFault):
    """What is committed, or what this node wrote, cannot be replayed."""


OURS: Final = (NodeFault, StorageError, OSError)
"""What no request has to pay for, even if it is noticed while one is handled."""

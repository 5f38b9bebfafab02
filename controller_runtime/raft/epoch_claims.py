"""Which claims about epochs are believed.

Kafka enters any higher epoch that any request names, so one request of a stranger with epoch 2^31-1 ends every election
for ever, and any node can depose a leader at will. With pre-vote (KIP-996) an honest epoch grows by one for each
candidate that a majority encouraged, and who is behind learns it from the answers to its own questions, put to
addresses that it knows. So a request raises the epoch only within an allowance that refills slowly, and not at all if
its sender is no voter while this node hears its leader. Without a leader a stranger is believed: it may know a newer
voter set. Refusing is always safe: it is what losing the request would have been.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from controller_runtime.identifiers import Epoch, Instant, ReplicaKey
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached

LAST_EPOCH: Final = Epoch(2**31 - 1)
"""An epoch is an int32 on the wire and on disk."""


class EpochClaim(Enum):
    BELIEVED = "believed"
    DISTURBS = "disturbs"
    """Its sender is no voter, and this node hears its leader: there is nothing to vote about."""
    TOO_FAR = "too far"
    """No honest epoch is that much ahead of one that this node has seen, or it learns of it by asking."""


def judge(q: Quorum, epoch: Epoch, sender: ReplicaKey, now: Instant) -> EpochClaim:
    """Whether a request that names a higher epoch than ours may raise ours. Asking uses the allowance up."""
    assert epoch > q.epoch, f"{epoch} is not above {q.epoch}"
    disturbs = epoch < LAST_EPOCH and hears_leader(q, now) and not _is_voter(q, sender)
    if not disturbs and epoch < LAST_EPOCH and q.claimed_epochs.take(epoch - q.epoch, now):
        return EpochClaim.BELIEVED
    q.counters.refused_epochs += 1
    who = f"voter {sender.node_id}" if _is_voter(q, sender) else "a node that is no voter"
    q.note_once(f"{who} claims epoch {_magnitude(epoch)}, this node is in {_magnitude(q.epoch)}: not believed")
    return EpochClaim.DISTURBS if disturbs else EpochClaim.TOO_FAR


def is_answer_believed(q: Quorum, epoch: Epoch, now: Instant) -> bool:
    """The same for the answer to a question of ours: much is believed, but not everything."""
    if epoch < LAST_EPOCH and q.answered_epochs.take(epoch - q.epoch, now):
        return True
    q.counters.refused_epochs += 1
    q.note_once(f"an answer claims epoch {_magnitude(epoch)}, this node is in {_magnitude(q.epoch)}: not believed")
    return False


def _is_voter(q: Quorum, sender: ReplicaKey) -> bool:
    """BeginQuorumEpoch and EndQuorumEpoch name their sender by node id alone."""
    voter = q.voters.by_id(sender.node_id)
    return voter is not None and (not sender.directory_id.strip(b"\x00") or q.voters.match(sender) is not None)


def hears_leader(q: Quorum, now: Instant) -> bool:
    """Whether this node leads, or heard from its leader within its patience."""
    match q.role:
        case Leader():
            return True
        case Follower(has_fetched=True, fetch_deadline=until):
            return now < until
        case Follower() | Unattached() | Prospective() | Candidate() | Resigned():
            return False


def _magnitude(epoch: int) -> str:
    """Roughly: a note is said once, and should not be a new one with every epoch."""
    return str(epoch) if epoch < 100 else f"about 10^{len(str(epoch)) - 1}"


def note_impostor(q: Quorum, key: ReplicaKey) -> None:
    """Somebody else says that it is this node: two processes have one node id, by mistake or by malice."""
    q.counters.impostors += 1
    q.note_once(f"node ids must differ: another process says that it is node {key}, which is this one")

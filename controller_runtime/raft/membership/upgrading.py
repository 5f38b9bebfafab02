"""kraft.version 0 -> 1: static voters move into the log (KIP-853; through UpdateFeatures since Kafka 4.1).

Only when every static voter has reported to this leader what it is: its directory id, its endpoints, and that it
understands the level. From the moment the batch is appended the set of the log counts and `controller.quorum.voters` is
ignored; there is no way back, except by truncation.
"""

from __future__ import annotations

from controller_runtime.identifiers import Epoch, Instant
from controller_runtime.raft.leadership import append_control, sync_voters
from controller_runtime.raft.messages import KRaftVersion
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader
from controller_runtime.raft.voter_set import VoterSet

LATEST_KRAFT_VERSION = 1


def upgrade_fault(q: Quorum, level: int) -> str | None:
    """Why kraft.version cannot become `level` now, in Kafka's words; None if it can, or is that already."""
    leader, current = q.role, q.history.kraft_version
    if not isinstance(leader, Leader):
        return "Upgrade kraft version failed because the replica is not the current leader"
    if level < current:
        return (
            f"Invalid upgrade of kraft.version from version {_text(current)} to {_text(level)} "
            "because the new version is a downgrade"
        )
    voters = None if level == current else _reported(q, leader)
    if level != current and (voters is None or any(v.max_kraft_version < level for v in voters.voters)):
        return f"Invalid upgrade of kraft.version to {_text(level)} because not all of the voters support it"
    return None


def on_upgrade(q: Quorum, epoch: Epoch, level: int, now: Instant) -> None:
    """Write what `upgrade_fault` allowed a moment ago; asking for what is there writes nothing."""
    leader = q.role
    assert isinstance(leader, Leader), f"only a leader upgrades, not a {type(leader).__name__}"
    assert epoch == leader.epoch, f"upgrade for epoch {epoch} in epoch {leader.epoch}"
    assert upgrade_fault(q, level) is None, "an upgrade is asked for only when it is possible"
    if level == q.history.kraft_version:
        return
    voters = _reported(q, leader)
    assert voters is not None, "upgrade_fault saw them"
    append_control(q, (KRaftVersion(level), voters))
    sync_voters(q, leader, now)


def _reported(q: Quorum, leader: Leader) -> VoterSet | None:
    """The static voters with all that they reported of themselves; None while somebody is missing."""
    known = {**leader.reported, q.config.node_id: q.config.voter}
    if not q.config.listeners or any(node_id not in known for node_id in q.voters.ids):
        return None
    return VoterSet.of(known[node_id] for node_id in q.voters.ids)


def _text(level: int) -> str:
    return f"KRAFT_VERSION_{level}"

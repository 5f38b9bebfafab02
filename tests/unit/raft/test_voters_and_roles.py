"""Who votes at which offset, and which role may follow which."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.identifiers import DirectoryId, Endpoint, NodeId, Offset, ReplicaKey, Uuid
from controller_runtime.raft.roles import TRANSITIONS, Candidate, Leader, Prospective, diagram
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET, Voter, VoterHistory, VoterSet, static_voters

pytestmark = pytest.mark.unit

DIAGRAM = Path(__file__).parents[3] / "docs" / "design" / "raft-roles.md"


def key(node: int, directory: int = 1) -> ReplicaKey:
    return ReplicaKey(NodeId(node), DirectoryId(Uuid.of(directory, node)))


def voters(*nodes: int) -> VoterSet:
    return VoterSet.of(Voter(key(node), ()) for node in nodes)


def test_a_voter_is_its_node_id_and_its_directory() -> None:
    assert voters(1, 2, 3).match(key(2)) is not None
    assert voters(1, 2, 3).match(key(2, directory=9)) is None
    static = static_voters("CONTROLLER", [(NodeId(2), Endpoint("a", 1))])
    assert static.match(key(2, directory=9)) is not None


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half(count: int, majority: int) -> None:
    assert voters(*range(1, count + 1)).majority == majority


def test_consecutive_sets_must_share_a_majority() -> None:
    assert voters(1, 2, 3).overlaps(voters(1, 2, 3, 4))
    assert voters(1, 2, 3).overlaps(voters(1, 2))
    assert not voters(1, 2, 3).overlaps(voters(1, 2, 4))


def test_a_set_takes_effect_when_written_and_is_given_up_when_truncated() -> None:  # RCF-11
    history = VoterHistory()
    history.reset(BOOTSTRAP_OFFSET, 1, voters(1))
    history.add_voters(Offset(5), voters(1, 2))
    history.add_voters(Offset(9), voters(1, 2, 3))
    assert history.latest == voters(1, 2, 3)
    assert history.at(Offset(9)) == (1, voters(1, 2))
    history.truncate(Offset(9))
    assert history.latest == voters(1, 2)
    history.truncate(Offset(0))
    assert (history.latest, history.latest_offset, history.kraft_version) == (voters(1), -1, 1)


def test_static_voters_count_only_until_the_log_names_some() -> None:  # RCF-03
    static = static_voters("CONTROLLER", [(NodeId(7), Endpoint("a", 1))])
    history = VoterHistory(static)
    assert (history.latest, history.latest_offset, history.kraft_version) == (static, None, 0)
    history.add_version(Offset(1), 1)
    history.add_voters(Offset(2), voters(1))
    assert (history.latest, history.kraft_version) == (voters(1), 1)


def test_only_a_prospective_becomes_a_candidate_and_only_a_candidate_a_leader() -> None:  # RFT-08
    assert {role for role, targets in TRANSITIONS.items() if Candidate in targets} == {Prospective}
    assert {role for role, targets in TRANSITIONS.items() if Leader in targets} == {Candidate}


def test_the_documented_diagram_is_the_table(rewrite: bool) -> None:
    page = f"""# The roles of a replica

Drawn from `TRANSITIONS` in `controller_runtime/raft/roles.py`; `pytest tests/unit/raft --rewrite` draws it anew.

```mermaid
{diagram()}
```
"""
    if rewrite:
        DIAGRAM.parent.mkdir(parents=True, exist_ok=True)
        DIAGRAM.write_text(page)
    assert DIAGRAM.read_text() == page

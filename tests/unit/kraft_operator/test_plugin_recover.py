"""`kubectl kraft recover`: what it asks the API server for, what it shows, and that nothing is approved but the hash
that was shown.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from kraft_operator.kube import CLUSTER, OPERATION, Kind
from kraft_operator.plugin import recover as plugin
from kraft_operator.plugin.main import parser
from kraft_operator.witnesses import read

pytestmark = pytest.mark.unit

VERDICT = {
    "verdict": "KnownLoss",
    "hash": "abc123",
    "text": "offsets 10 to 13 are known to be committed",
    "seed": 2,
    "lostFrom": 10,
    "lostTo": 14,
    "copies": [
        {"nodeID": 2, "role": "Voter", "directoryID": "d2", "lastEpoch": 7, "end": 10, "known": 8, "promised": 7},
        {"nodeID": 100, "role": "Broker", "directoryID": "d100", "lastEpoch": 6, "end": 9, "known": 9, "promised": 7},
    ],
}


class Server:
    """An API server with one cluster, and an operator behind it that judges at once and finishes when the right hash is
    approved.
    """

    def __init__(self) -> None:
        self.operations: dict[str, dict[str, Any]] = {}
        self.approved: list[str] = []

    def get(self, kind: Kind, namespace: str | None, name: str) -> dict[str, Any]:
        return copy.deepcopy(self.operations[name]) if kind is OPERATION else {"metadata": {"name": name}}

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[dict[str, Any], ...]:
        return tuple(copy.deepcopy(each) for each in self.operations.values())

    def create(self, kind: Kind, namespace: str | None, body: dict[str, Any]) -> dict[str, Any]:
        name = f"{body['metadata']['generateName']}{len(self.operations)}"
        status = {"phase": "WaitingApproval", "verdict": VERDICT, "message": "look"}
        self.operations[name] = {**body, "metadata": {"name": name, "uid": "u"}, "status": status}
        return self.get(OPERATION, namespace, name)

    def annotate(self, kind: Kind, namespace: str, name: str, marks: Mapping[str, str], *, uid: str) -> None:
        self.approved += marks.values()
        self.operations[name]["status"] |= {"phase": "Succeeded", "proof": "generation 2"}


def ask(server: Server, approve: str | None = None, typed: str | None = None) -> tuple[int, str]:
    said: list[str] = []
    any_server: Any = server
    code = plugin.recover(
        any_server, "n", "c", approve, 5, said.append, (lambda _: typed) if typed is not None else None
    )
    return code, "\n".join(said)


def test_the_verdict_and_its_copies_are_shown_and_nothing_is_approved() -> None:
    server = Server()
    code, said = ask(server)
    assert (code, server.approved) == (0, [])
    assert "verdict KnownLoss  (hash abc123)" in said
    assert "known to be committed and lost: offsets 10 to 13" in said
    assert next(line for line in said.splitlines() if "<- the seed" in line).split()[:2] == ["2", "Voter"]
    assert "kubectl kraft recover c -n n --approve abc123" in said
    (found,) = server.operations.values()
    assert found["spec"] == {"clusterName": "c", "type": "RecoverQuorum"}
    ask(server)
    assert len(server.operations) == 1, "a second look asks no second time"


@pytest.mark.parametrize("how", ["command line", "typed"])
def test_exactly_the_hash_that_was_shown_is_approved(how: str) -> None:
    server = Server()
    ask(server)
    wrong = ask(server, approve="abc12") if how == "command line" else ask(server, typed="yes")
    assert (wrong[0], server.approved) == (1, [])
    right = ask(server, approve="abc123") if how == "command line" else ask(server, typed="abc123\n")
    assert (right[0], server.approved) == (0, ["abc123"])
    assert "Succeeded: generation 2" in right[1]


def test_an_approval_without_a_recovery_under_way_is_refused() -> None:
    assert ask(Server(), approve="abc123")[0] == 1


def test_the_command_is_registered() -> None:
    given = parser().parse_args(["recover", "c", "-n", "kafka", "--approve", "abc"])
    assert (given.cluster, given.namespace, given.approve) == ("c", "kafka", "abc")
    assert CLUSTER.plural == "kraftclusters"


def test_a_metrics_page_tells_high_watermark_and_epoch() -> None:
    page = (
        "# TYPE kafka_server_raftmetrics_high_watermark gauge\nkafka_server_raftmetrics_high_watermark 1041.0\n"
        'kafka_server_raftmetrics_current_epoch{a="b"} 12\nkafka_server_raftmetrics_log_end_offset 1043\n'
    )
    assert read(page) == (1041, 12)
    assert read("kafka_server_raftmetrics_high_watermark -1\n") == (0, 0)

"""What the tools make of answers, beside the recorded words of Kafka 4.3.1's, and their proposals beside its rules."""

from __future__ import annotations

import itertools
from base64 import b64decode
from collections.abc import Callable
from datetime import datetime

import pytest

from controller_runtime.admin.results import LogDirDescription, Reassignment, ReplicaOnDisk
from controller_runtime.cli import delegation_tokens, leader_election
from controller_runtime.cli.acl_words import OPERATIONS, PATTERN_TYPES, PERMISSION_TYPES, RESOURCE_TYPES
from controller_runtime.cli.acls_options import OPTIONS as ACL_OPTIONS
from controller_runtime.cli.acls_options import Entry, Pattern, entries
from controller_runtime.cli.admin_tools import Failed
from controller_runtime.cli.broker_api_versions import lines as api_lines
from controller_runtime.cli.config_quotas import quota_line
from controller_runtime.cli.log_dirs import as_json
from controller_runtime.cli.reassign_files import as_json as proposal_json
from controller_runtime.cli.reassign_files import parse_proposal
from controller_runtime.cli.reassign_moves import Place, state_line
from controller_runtime.cli.reassign_partitions import listing
from controller_runtime.cli.reassign_placement import by_turns, place
from controller_runtime.cli.reassign_throttles import moves, throttled_replicas
from controller_runtime.protocol.api_errors import error_for
from controller_runtime.protocol.errors import ErrorCode
from support.golden import json_lines

pytestmark = pytest.mark.unit

RECORDED = json_lines("cluster/tools.jsonl.gz")


def said(tool: str, *words: str) -> str:
    return next(
        str(call["out"]) for call in RECORDED if call["tool"] == tool and all(word in call["args"] for word in words)
    )


def milliseconds(text: str) -> int:
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M").astimezone().timestamp() * 1000)


def test_tokens_are_shown_as_kafka_does() -> None:
    transcript = said("kafka-delegation-tokens", "--describe", "User:admin")
    tokens = []
    for line in transcript.splitlines()[4::2]:
        token_id, hmac, owner, requester, renewers, *dates = line.split()
        names = tuple(filter(None, renewers.strip("[]").split(",")))
        tokens.append(
            delegation_tokens.Token(token_id, b64decode(hmac), owner, requester, names, *map(milliseconds, dates))
        )
    assert len(tokens) == 2
    assert list(delegation_tokens.table(tokens)) == transcript.splitlines()[2:]
    assert delegation_tokens.date(1 << 62).startswith("9999")


def test_the_versions_of_a_broker_are_shown_as_kafka_does() -> None:
    golden = said("kafka-broker-api-versions", "--bootstrap-server")
    broker = golden.split("\n)\n")[0].split("\n\t")[1:]
    served = {}
    for line in broker:
        if "UNSUPPORTED" in line:
            continue
        key, versions = int(line.split("(")[1].split(")")[0]), line.split(": ")[1].split(" [")[0]
        low, _, high = versions.partition(" to ")
        served[key] = (int(low), int(high or low))
    assert list(api_lines(served)) == [line.rstrip(",") for line in broker]
    assert list(api_lines({0: (99, 100), 18: (0, 4), 999: (1, 2)}))[:1] == [
        "Produce(0): 99 to 100 [unusable: node too new]"
    ]
    assert "UNKNOWN(999): 1 to 2" in api_lines({999: (1, 2)})
    assert "Fetch(1): UNSUPPORTED" in api_lines({})
    assert "Fetch(1): 0 to 1 [unusable: node too old]" in api_lines({1: (0, 1)})


def acl_line(text: str) -> Entry:
    cells = dict(cell.split("=", 1) for cell in text.strip("\t ()").split(", "))
    numbers = OPERATIONS.index(cells["operation"]), PERMISSION_TYPES.index(cells["permissionType"])
    return Entry(cells["principal"], cells["host"], *numbers)


@pytest.mark.parametrize(
    "call",
    [call for call in RECORDED if call["tool"] == "kafka-acls" and "--add" in call["args"]],
    ids=lambda call: " ".join(call["args"][2:]),
)
def test_what_is_added_is_what_kafka_adds(call: dict[str, list[str]]) -> None:
    wanted: dict[Pattern, set[Entry]] = {}
    pattern = Pattern(0, "", 0)
    for line in str(call["out"]).splitlines():
        if line.startswith("Adding"):
            cells = dict(cell.split("=") for cell in line.split("Pattern(")[1].split(")`")[0].split(", "))
            kinds = RESOURCE_TYPES.index(cells["resourceType"]), PATTERN_TYPES.index(cells["patternType"])
            pattern = Pattern(kinds[0], cells["name"], kinds[1])
            assert pattern.text() in line
        elif line.strip():
            assert str(acl_line(line)) in line
            wanted.setdefault(pattern, set()).add(acl_line(line))
    assert wanted
    assert {one: set(some) for one, some in entries(ACL_OPTIONS.parse(call["args"])).items()} == wanted


def test_quotas_are_shown_as_kafka_does() -> None:
    golden = said("kafka-configs", "--describe", "users").splitlines()[0]
    assert quota_line({"user": "s7-alice"}, {"producer_byte_rate": 613984.0}) == golden
    both = quota_line({"client-id": None, "user": "a"}, {"request_percentage": 1e-7, "consumer_byte_rate": 12345678.0})
    assert both.startswith("Quota configs for user-principal 'a', the default client-id are ")
    assert both.endswith("request_percentage=1.0E-7, consumer_byte_rate=1.2345678E7")


def test_directories_are_shown_as_kafka_does() -> None:
    replicas = {("a-b", 0): ReplicaOnDisk(7, 1, is_future=True), ("other", 1): ReplicaOnDisk(0, 0, is_future=False)}
    shown = as_json({11: [LogDirDescription("/d0", None, replicas)]}, {"a-b"})
    replica = '{"partition":"a-b-0","size":7,"offsetLag":1,"isFuture":true}'
    assert shown == (
        f'{{"brokers":[{{"broker":11,"logDirs":[{{"partitions":[{replica}],"error":null,"logDir":"/d0"}}]}}],"version":1}}'
    )


# Reassignments.


def test_an_election_that_nobody_needs_is_told_as_kafka_does(capsys: pytest.CaptureFixture[str]) -> None:
    leader_election.report("UNCLEAN", {"audit-11-0": error_for(ErrorCode.ELECTION_NOT_NEEDED)})
    assert capsys.readouterr().out == said("kafka-leader-election", "unclean")


def test_a_proposal_is_written_as_kafka_writes_it() -> None:
    golden = next(line for line in said("kafka-reassign-partitions", "--execute").splitlines() if line.startswith("{"))
    found = parse_proposal(golden)
    assert len(found.partitions) == 3
    assert proposal_json(found.by_partition, found.directories) == golden


def test_what_is_under_way_is_listed_by_topic_and_partition() -> None:
    found = [Reassignment("t", 10, (1, 2), (2,), (1,)), Reassignment("t", 9, (3,), (), ())]
    assert listing(found) == (
        "Current partition reassignments:\nt-9: replicas: 3.\nt-10: replicas: 1,2. adding: 2. removing: 1."
    )
    assert listing([]) == "No partition reassignments found."


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (None, "cannot be found in any live log directory on broker 3."),
        (Place(), "is not found in any live log dir on broker 3. There is likely an offline log directory"),
        (Place("/d"), "Reassignment of replica t-0-3 completed successfully."),
        (Place("/a"), "Partition t-0 on broker 3 is not being moved from log dir /a to /d."),
        (Place("/a", "/d"), "Reassignment of replica t-0-3 is still in progress."),
        (Place("/a", "/x"), "Partition t-0 on broker 3 is being moved to log dir /x instead of /d."),
    ],
)
def test_how_far_a_move_between_directories_got_is_told(now: Place | None, words: str) -> None:
    assert words in state_line((3, "t", 0), now, "/d")


def test_only_what_moves_is_throttled() -> None:
    under_way = [Reassignment("t", 0, (1, 2, 3), (3,), (1,))]
    found = moves(under_way, {("t", 0): (2, 4), ("u", 1): (1, 5)}, {("t", 0): (1, 2, 3), ("u", 1): (1, 2)})
    assert throttled_replicas(found) == {"t": ("0:1,0:2", "0:4"), "u": ("1:1,1:2", "1:5")}


def dice(*numbers: int) -> Callable[[int], int]:
    rolled = itertools.cycle(numbers)
    return lambda below: next(rolled) % below


def test_replicas_go_round_and_the_distance_grows_with_each_round() -> None:
    """The example of Kafka's AdminUtils: five brokers, ten partitions, three replicas."""
    placed = place(dict.fromkeys(range(5)), 10, 3, dice(0, 0))
    assert placed == [
        [0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0], [4, 0, 1],
        [0, 2, 3], [1, 3, 4], [2, 4, 0], [3, 0, 1], [4, 1, 2],
    ]  # fmt: skip


def test_racks_take_turns_and_none_has_two_before_all_have_one() -> None:
    """The example of Kafka's AdminUtils: six brokers in three racks."""
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    assert by_turns(racks) == [0, 3, 1, 5, 4, 2]
    placed = place(racks, 7, 3, dice(0, 0))
    assert placed == [[0, 3, 1], [3, 1, 5], [1, 5, 4], [5, 4, 2], [4, 2, 0], [2, 0, 3], [0, 4, 2]]
    for replicas in place(racks, 40, 3, dice(3, 5)):
        assert len({racks[one] for one in replicas}) == 3


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(Failed, match="The target replication factor of 3 cannot be reached because only 2 broker"):
        place({1: None, 2: None}, 1, 3, dice(0))

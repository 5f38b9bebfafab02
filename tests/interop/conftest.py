"""Fixtures of the tests beside Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.apache_kafka.differential import Pair
from support.apache_kafka.java_kafka import make_archive, require_java
from support.apache_kafka.node_pairs import GUARDED, KEEPING, pair_of_nodes
from support.nodes.processes import free_ports
from support.sampling import Sometimes, leave_out, leave_out_variants, take_turns

SAMPLED = (
    Sometimes("test_operator_asks_java.py", "the operator beside Apache Kafka 4.2 and 4.3.1", 10, 0),
    Sometimes("test_operator_empties_a_volume.py", "a volume taken from a broker of either kind", 10, 3),
    Sometimes("test_java_brokers_survive.py", "Apache Kafka's brokers and our controllers, killed in turn", 10, 1),
    Sometimes("test_java_brokers_coordinate.py", "transactions and groups of Apache Kafka's brokers", 10, 2),
    Sometimes("test_update_voter_java.py", "voters' endpoints corrected beside Apache Kafka", 10, 8),
    Sometimes("test_java_brokers_change.py", "directories, replicas and levels of Java's brokers change", 10, 4),
    Sometimes("test_java_brokers_stream.py", "a streams group of Apache Kafka's library and broker", 10, 5),
    Sometimes("test_live_migration.py", "controllers of Apache Kafka replaced by ours and back, by the runbook", 10, 6),
    Sometimes("test_snapshots_java.py", "snapshots that observers fetch from the other kind, disks taken over", 10, 7),
    Sometimes("test_mixed_snapshots.py", "voters that live from the other kind's snapshots", 10, 3),
    Sometimes("test_group_tools_java.py", "the tools for groups beside Java's, on both kinds of brokers", 8, 0),
    Sometimes("test_groups_of_clients.py", "groups of every client, and Java's tools for them", 8, 1),
    Sometimes("test_consumer_protocol.py", "groups of the consumer protocol, by Java and librdkafka", 8, 2),
    Sometimes("test_transactions_of_clients.py", "transactions of every client on our brokers", 8, 3),
    Sometimes("test_transactions_survive.py", "three brokers killed in turn under transactions", 8, 4),
    Sometimes("test_differential_transactions.py", "transactions beside Apache Kafka, answer for answer", 8, 5),
    Sometimes("test_consumer_groups_change_hands.py", "a consumer group under coordinators of both kinds", 10, 9),
    Sometimes("test_listeners_of_the_operator.py", "listeners as the operator renders them, on both kinds", 10, 4),
    Sometimes("test_recovered_quorum_java.py", "the seed of a lost quorum, of both kinds", 10, 0),
    Sometimes("test_archive_of_java.py", "the archive's follower beside Apache Kafka's controllers", 8, 7),
    Sometimes("test_mixed_segments.py", "a log of several segments that the other kind follows", 10, 1),
    Sometimes("test_tools_java.py", "Java's tools at our nodes", 8, 6),
    Sometimes("test_tools_ours_on_java.py", "our tools at Java's nodes", 8, 3),
    Sometimes("test_mixed_membership.py", "voters of both kinds come and go", 8, 1),
    Sometimes("test_mixed_quorum.py", "quorums of both kinds, killed in turn", 8, 2),
    Sometimes("test_lost_disk.py", "the disk of a voter of either kind is lost", 8, 7),
    Sometimes("test_security_tools_java.py", "Java's tools for ACLs, quotas, SCRAM and tokens beside ours", 8, 4),
    Sometimes("test_java_broker_enforces.py", "a broker of Java enforces what our controllers keep", 8, 5),
    Sometimes("test_java_brokers_replicate.py", "Apache Kafka's brokers replicate under our controllers", 6, 0),
    Sometimes("test_replicas_of_ours.py", "our brokers replicate with each other and with Apache Kafka's", 6, 1),
    Sometimes("test_secure_replicas_java.py", "brokers of both kinds that copy from each other, secured", 6, 2),
    Sometimes("test_racks_of_clients.py", "clients that read in their own rack", 6, 3),
    Sometimes("test_differential_rates.py", "rates of clients beside Apache Kafka's broker", 6, 4),
    Sometimes("test_compaction_java.py", "logs compacted by Apache Kafka's own cleaner and by ours", 6, 5),
    Sometimes("test_storage_java.py", "directories of one kind that the other kind opens", 6, 0),
    Sometimes("test_tls_beside_java.py", "one cluster of both kinds over TLS", 6, 1),
    Sometimes("test_sasl_beside_java.py", "one cluster of both kinds with SASL", 10, 2),
    Sometimes("test_tokens_beside_java.py", "one cluster of both kinds with tokens of an issuer", 10, 8),
    Sometimes("test_authorization_matrix.py", "who is refused, API by API", 6, 2),
    Sometimes("test_clients_go_js.py", "clients in Go and JavaScript", 6, 3),
    Sometimes("test_suite_of_franz_go.py", "franz-go's own tests at our brokers", 8, 3),
    Sometimes("test_suite_of_librdkafka.py", "librdkafka's own tests at our brokers", 0),
    Sometimes("test_suite_of_segmentio.py", "segmentio/kafka-go's own tests at a node of ours", 8, 5),
    Sometimes("test_suite_of_sarama.py", "sarama's own functional tests at five brokers of ours", 0),
    Sometimes("test_suite_of_kafka_python.py", "kafka-python's own tests at a broker of ours", 0),
    Sometimes("test_streams_application.py", "a Kafka Streams application on a broker of ours", 10, 5),
    Sometimes("test_share_states_java.py", "a killed share coordinator, whose log Java reads", 6, 5),
    Sometimes("test_share_consumers_java.py", "Java's share consumer at a broker of ours", 6, 0),
    Sometimes("test_share_coordinators_survive.py", "leaders and coordinators of a share group, killed in turn", 8, 1),
    Sometimes("test_share_group_tools_java.py", "Java's tool for share groups, on both kinds of brokers", 8, 6),
    Sometimes("test_share_groups_change_hands.py", "a share group under coordinators of both kinds", 10, 0),
    Sometimes("test_transactions_change_hands.py", "open transactions under coordinators of both kinds", 10, 6),
    Sometimes("test_configs_tool_java.py", "groups and client metrics by Java's tool", 6, 4),
)
"""Many starts of Java, each half a minute and more: a run tells one in seven or eight of them. The rests of one
division belong together: those that resemble each other have different ones, so that a run tells few of them and the
next run others.
"""
VARIANTS = {
    "test_two_controllers_that_hear_the_same_story_decide_the_same": 1,
    "test_a_test_of_its_own_passes": 6,
    "test_a_long_test_of_its_own_passes": 0,
    "test_tests_of_segmentios_own_pass": 2,
    "test_long_tests_of_segmentios_own_pass": 0,
}
"""How many of a test's variants are run; 0: by `make soak` and by the name of the file alone."""
TURNS = {
    "test_apache_kafka_withstands_what_the_table_says": 8,
    "test_no_hostile_client_harms_a_node_of_ours": 2,
    "test_javas_broker_takes_over_our_disks_and_gives_them_back": 2,
    "test_no_acknowledged_record_is_lost_while_controllers_and_the_broker_are_killed": 2,
    "test_the_shell_shows_a_living_quorum_of_java_as_javas_shell_shows_its_log": 12,
    "test_topics_are_altered_alike": 12,
    "test_topics_are_described_alike_by_each_report_by_id_and_while_they_move": 12,
    "test_offsets_records_leaders_and_directories_are_told_alike": 12,
    "test_configurations_are_changed_and_described_alike": 12,
    "test_acls_are_added_removed_and_listed_alike": 12,
    "test_delegation_tokens_are_refused_alike_without_a_principal": 12,
    "test_replicas_are_moved_alike": 12,
}
"""They take from a quarter of a minute to minutes: one seed in so many tells each. The last eight are those of
`test_tools_beside_java.py`.
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out(config, items, SAMPLED)
    leave_out_variants(config, items, VARIANTS)
    take_turns(config, items, lambda item: TURNS.get(item.name, 1))


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The class path of Apache Kafka; skips, or fails in CI, where it cannot be had."""
    found, ports = require_java(), free_ports(2)
    make_archive(tmp_path_factory.mktemp("archive"), (ports[0], ports[1]))
    return found


@pytest.fixture(scope="session")
def pair(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A Java node and one of ours, in both roles, for the differential tests of all files: what one side is told, the
    other is told, too.
    """
    with pair_of_nodes(tmp_path_factory.mktemp("pair")) as made:
        yield made


@pytest.fixture(scope="session")
def guarded_pair(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """As `pair`, of a Java node that has an authorizer, and of one of ours that keeps ACLs."""
    with pair_of_nodes(tmp_path_factory.mktemp("guarded"), GUARDED, KEEPING) as made:
        yield made

"""Which feature of which client is shown against our brokers, and by which test: a section of `docs/compatibility.md`.

A cell names a test that is there; the page is not written if it is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

INTEROP: Final = Path(__file__).resolve().parent.parent / "tests" / "interop"
CLIENTS: Final = (
    "Java 4.3.1", "librdkafka", "kafka-python", "aiokafka", "franz-go", "sarama", "segmentio/kafka-go", "kafkajs",
)  # fmt: skip
GO_JS: Final = ("franz-go", "sarama", "segmentio/kafka-go", "kafkajs")
NONE: Final = "the client has none"
NOT_SHOWN: Final = "not shown"

_ROUND_TRIP = "test_every_record_comes_back_as_it_went_in"
_PROGRAMS = "test_clients_go_js.py::test_what_a_client_writes_it_reads_alone_and_as_a_group"
_ABORTED = "test_clients_go_js.py::test_readers_of_committed_records_see_no_aborted_one"
_SASL = "test_sasl_beside_java.py::test_clients_of_every_kind_come_by_every_mechanism"
_TLS = "test_tls_beside_java.py::test_clients_of_every_kind_produce_and_consume_over_tls"
_TOKENS = "test_tokens_beside_java.py::test_clients_of_every_kind_come_by_tokens"
_FRANZ = "test_suite_of_franz_go.py::test_a_long_test_of_its_own_passes"
_SEGMENTIO = "test_suite_of_segmentio.py::test_long_tests_of_segmentios_own_pass"
_SARAMA = "test_suite_of_sarama.py::test_all_of_saramas_functional_tests_pass"
_KAFKA_PYTHON = "test_suite_of_kafka_python.py::test_its_own_tests_pass"
_PYTHON: Final = ("librdkafka", "kafka-python", "aiokafka")

FEATURES: Final[dict[str, dict[str, str]]] = {
    "produce and consume, every codec it has": {
        "Java 4.3.1": "test_broker_java.py::test_javas_tools_work_against_our_broker",
        "librdkafka": f"test_clients_librdkafka.py::{_ROUND_TRIP}",
        "kafka-python": f"test_clients_kafka_python.py::{_ROUND_TRIP}",
        "aiokafka": f"test_clients_aiokafka.py::{_ROUND_TRIP}",
        **dict.fromkeys(GO_JS, _PROGRAMS),
    },
    "idempotent producer": {
        "Java 4.3.1": "test_transactions_of_clients.py::test_java_produces_in_transactions_and_reads_what_is_committed",
        "librdkafka": "test_transactions_of_clients.py::test_librdkafka_commits_and_aborts",
        "kafka-python": _KAFKA_PYTHON,
        "aiokafka": "test_transactions_of_clients.py::test_aiokafka_commits_and_aborts",
        **dict.fromkeys(GO_JS, _PROGRAMS),
        "segmentio/kafka-go": NONE,
    },
    "classic groups": {
        "Java 4.3.1": "test_groups_of_clients.py::test_java_s_consumer_and_its_tool",
        "librdkafka": "test_groups_of_clients.py::test_librdkafka_shares_by_every_assignor",
        "kafka-python": "test_groups_of_clients.py::"
        "test_members_of_kafka_python_share_a_topic_and_each_record_is_read_once",
        "aiokafka": "test_groups_of_clients.py::test_aiokafka_goes_on_where_its_group_has_stopped",
        **dict.fromkeys(GO_JS, _PROGRAMS),
    },
    "groups of the consumer protocol (KIP-848)": {
        "Java 4.3.1": "test_consumer_protocol.py::test_java_s_consumer_reads_and_java_s_tools_show_its_group",
        "librdkafka": "test_consumer_protocol.py::test_members_of_librdkafka_share_come_and_go",
        "franz-go": _FRANZ,
        **dict.fromkeys(("kafka-python", "aiokafka", "sarama", "segmentio/kafka-go", "kafkajs"), NONE),
    },
    "transactions, read_committed": {
        "Java 4.3.1": "test_transactions_of_clients.py::test_java_produces_in_transactions_and_reads_what_is_committed",
        "librdkafka": "test_transactions_of_clients.py::test_librdkafka_commits_and_aborts",
        "kafka-python": _KAFKA_PYTHON,
        "aiokafka": "test_transactions_of_clients.py::test_aiokafka_commits_and_aborts",
        **dict.fromkeys(GO_JS, _ABORTED),
        "segmentio/kafka-go": NONE,
    },
    "offsets in transactions": {
        "librdkafka": "test_transactions_of_clients.py::test_offsets_are_committed_with_their_transaction",
        "kafka-python": _KAFKA_PYTHON,
        "franz-go": _FRANZ,
        "sarama": _SARAMA,
        "segmentio/kafka-go": NONE,
    },
    "fetch from the rack's replica (KIP-392)": {
        "Java 4.3.1": "test_racks_of_clients.py::test_javas_consumer_reads_from_the_broker_in_its_rack",
        "librdkafka": "test_racks_of_clients.py::test_librdkafka_reads_from_the_broker_in_its_rack",
        "sarama": _SARAMA,
    },
    "TLS": {
        "Java 4.3.1": "test_tls_beside_java.py::test_java_and_ours_are_one_cluster_over_mutual_tls",
        **dict.fromkeys(_PYTHON, _TLS),
    },
    "SASL: PLAIN, SCRAM": {
        "Java 4.3.1": "test_sasl_beside_java.py::test_java_and_ours_are_one_cluster_that_knows_its_members",
        **dict.fromkeys(_PYTHON, _SASL),
        "segmentio/kafka-go": _SEGMENTIO,
    },
    "SASL: OAUTHBEARER": {
        "Java 4.3.1": "test_tokens_beside_java.py::test_tools_of_both_kinds_come_to_brokers_of_both_kinds",
        **dict.fromkeys(_PYTHON, _TOKENS),
    },
}


def clients() -> Iterator[str]:
    """The section; ValueError names a test that is not there."""
    yield "## Clients"
    yield ""
    yield "What each client does against our brokers in `tests/interop`, unmodified; the numbers name the tests below."
    yield ""
    yield f"| feature | {' | '.join(CLIENTS)} |"
    yield "|---" * (len(CLIENTS) + 1) + "|"
    tests: list[str] = []
    for feature, shown in FEATURES.items():
        cells = [_cell(shown.get(client, NOT_SHOWN), tests) for client in CLIENTS]
        yield f"| {feature} | {' | '.join(cells)} |"
    yield ""
    yield from (f"{number}. `{test}`" for number, test in enumerate(tests, 1))


def _cell(shown: str, tests: list[str]) -> str:
    if shown in (NONE, NOT_SHOWN):
        return shown
    _require(shown)
    if shown not in tests:
        tests.append(shown)
    return f"shown ({tests.index(shown) + 1})"


def _require(test: str) -> None:
    name, _, function = test.partition("::")
    path = INTEROP / name
    found = ast.parse(path.read_text()).body if path.is_file() else []
    if not any(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == function for each in found):
        raise ValueError(f"tools/client_features.py names a test that is not there: tests/interop/{test}")

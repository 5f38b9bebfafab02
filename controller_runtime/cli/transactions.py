"""`kafka-transactions`: list, describe and end transactions; find those that nobody ends."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Final

from controller_runtime.admin import transactions
from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.transactions import Partition
from controller_runtime.cli.admin_tools import BadCommand, with_admin
from controller_runtime.cli.arguments import Parser
from controller_runtime.cli.group_words import exception
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.errors import ErrorCode

_USAGE: Final = """\
usage: kafka-transactions [-h] [-v] [--command-config FILE] --bootstrap-server
                          host:port COMMAND ...
"""
_HELP: Final = """
Looks at transactions, and ends them.

  list                       transactions of all coordinators
                             [--duration-filter MS] [--transactional-id-pattern REGEX]
  describe                   what its coordinator says: --transactional-id ID
  describe-producers         who writes to a partition: --topic T --partition P [--broker-id ID]
  find-hanging               transactions that are open and have no coordinator
                             [--broker-id ID] [--max-transaction-timeout MINUTES] [--topic T] [--partition P]
  abort                      end one in one partition: --topic T --partition P with --start-offset OFFSET, or with
                             --producer-id ID --producer-epoch EPOCH --coordinator-epoch EPOCH
  forceTerminateTransaction  fence its producer: --transactionalId ID
"""
_PATIENCE_S: Final = 60.0
_MINUTE_MS: Final = 60_000
_DEFAULT_MINUTES: Final = 15


def main(argv: Sequence[str]) -> int:
    given = _parser().parse_args(argv)
    try:
        return with_admin(
            given.bootstrap_server, None, given.command_config, lambda admin: _COMMANDS[given.command](admin, given),
            _PATIENCE_S,
        )  # fmt: skip
    except (ApiError, AdminError, BadCommand) as error:
        print(exception(error) if isinstance(error, ApiError) else str(error), file=sys.stderr)
        return 1


def _parser() -> Parser:
    parser = Parser(_USAGE, _HELP, prog="kafka-transactions")
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--command-config")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command", parser_class=Parser)

    def command(name: str) -> Parser:
        made = commands.add_parser(name, usage_text=_USAGE, help_text=_HELP)
        assert isinstance(made, Parser), "as it was asked for"
        return made

    listing = command("list")
    listing.add_argument("--duration-filter", type=int, default=-1)
    listing.add_argument("--transactional-id-pattern")
    command("describe").add_argument("--transactional-id", required=True)
    described = command("describe-producers")
    hanging = command("find-hanging")
    aborting = command("abort")
    for one, needed in ((described, True), (aborting, True), (hanging, False)):
        one.add_argument("--topic", required=needed)
        one.add_argument("--partition", type=int, required=needed)
    for one in (described, hanging):
        one.add_argument("--broker-id", type=int)
    hanging.add_argument("--max-transaction-timeout", type=int, default=_DEFAULT_MINUTES)
    for name in ("start-offset", "producer-id", "producer-epoch", "coordinator-epoch"):
        aborting.add_argument(f"--{name}", type=int)
    command("forceTerminateTransaction").add_argument("--transactionalId", dest="transactional_id", required=True)
    return parser


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """As Kafka prints: cells as wide as the widest of their column, a tab behind each."""
    cells = [[str(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    lines = ("".join(f"{cell:{width}}\t" for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(lines)


async def _list(admin: AdminClient, given: argparse.Namespace) -> None:
    found = await transactions.list_transactions(
        admin, duration_ms=given.duration_filter, pattern=given.transactional_id_pattern
    )
    rows = [
        (each.transactional_id, node, each.producer_id, each.transaction_state)
        for node, listed in found.items()
        for each in listed
    ]
    print(table(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows))


async def _describe(admin: AdminClient, given: argparse.Namespace) -> None:
    node, found = await transactions.describe_transaction(admin, given.transactional_id)
    started = found.transaction_start_time_ms
    has_begun = started > 0
    row = (
        node,
        given.transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.transaction_state,
        found.transaction_timeout_ms,
        started if has_begun else None,
        int(time.time() * 1000) - started if has_begun else None,
        ",".join(f"{topic.topic}-{index}" for topic in found.topics for index in topic.partitions),
    )
    headers = (
        "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions",
    )  # fmt: skip
    print(table(headers, [["None" if cell is None else cell for cell in row]]))


def _unless_none(value: int) -> object:
    return value if value >= 0 else "None"


async def _describe_producers(admin: AdminClient, given: argparse.Namespace) -> None:
    node = None if given.broker_id is None else NodeId(given.broker_id)
    found = await transactions.producers(admin, Partition(given.topic, given.partition), node)
    headers = (
        "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
        "CurrentTransactionStartOffset",
    )  # fmt: skip
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            _unless_none(each.current_txn_start_offset),
        )
        for each in found
    ]
    print(table(headers, rows))


async def _abort(admin: AdminClient, given: argparse.Namespace) -> None:
    partition = Partition(given.topic, given.partition)
    epochs = (given.producer_epoch, given.coordinator_epoch)
    if given.start_offset is not None:
        found = [
            each
            for each in await transactions.producers(admin, partition)
            if each.current_txn_start_offset == given.start_offset
        ]
        if not found:
            why = f"Could not find any open transactions starting at offset {given.start_offset} on partition"
            raise BadCommand(f"{why} {partition.topic}-{partition.number}")
        producer_id, producer_epoch = found[0].producer_id, found[0].producer_epoch
        coordinator_epoch = max(0, found[0].coordinator_epoch)
    elif given.producer_id is None:
        raise BadCommand("The transaction to abort must be identified either with --start-offset or with --producer-id")
    elif None in epochs:
        missing = "producer-epoch" if given.producer_epoch is None else "coordinator-epoch"
        raise BadCommand(f"Missing required argument --{missing}")
    else:
        producer_id, (producer_epoch, coordinator_epoch) = given.producer_id, epochs
    await transactions.abort(
        admin,
        partition,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        coordinator_epoch=coordinator_epoch,
    )


async def _find_hanging(admin: AdminClient, given: argparse.Namespace) -> None:
    """Open for longer than any transaction may be, and unknown to every coordinator, or not open there."""
    if given.topic is None and given.broker_id is None:
        raise BadCommand("The `find-hanging` command requires either --topic or --broker-id to limit the scope")
    if given.partition is not None and given.topic is None:
        raise BadCommand("The --partition argument requires --topic to be provided")
    known = await transactions.leaders(admin, None if given.topic is None else (given.topic,))
    now, most = int(time.time() * 1000), given.max_transaction_timeout * _MINUTE_MS
    late = []
    for partition, leader in known.items():
        if given.partition not in (None, partition.number) or given.broker_id not in (None, leader):
            continue
        for each in await transactions.producers(admin, partition, leader):
            if each.current_txn_start_offset >= 0 and now - each.last_timestamp > most:
                late.append((partition, each))
    open_ones = await _open_partitions(admin, {each.producer_id for _, each in late}) if late else set()
    headers = (
        "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
        "Duration(min)",
    )  # fmt: skip
    rows = [
        (
            partition.topic,
            partition.number,
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.current_txn_start_offset,
            each.last_timestamp,
            (now - each.last_timestamp) // _MINUTE_MS,
        )
        for partition, each in late
        if (each.producer_id, partition) not in open_ones
    ]
    print(table(headers, rows))


async def _open_partitions(admin: AdminClient, producer_ids: set[int]) -> set[tuple[int, Partition]]:
    """What coordinators know to be in a transaction of these producers."""
    found: set[tuple[int, Partition]] = set()
    for listed in (await transactions.list_transactions(admin)).values():
        for each in listed:
            if each.producer_id not in producer_ids:
                continue
            try:
                _, described = await transactions.describe_transaction(admin, each.transactional_id)
            except ApiError as error:
                if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                    raise
                continue
            found |= {
                (described.producer_id, Partition(topic.topic, index))
                for topic in described.topics
                for index in topic.partitions
            }
    return found


async def _terminate(admin: AdminClient, given: argparse.Namespace) -> None:
    await transactions.terminate(admin, given.transactional_id)


_COMMANDS: Final = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
    "forceTerminateTransaction": _terminate,
}

"""`kafka-consumer-groups`: list, describe and delete groups of consumers, move and delete what they have committed.

Flags, output and exit codes are those of Kafka's tool: what a cluster refuses is said on standard output, and the exit
code is 0 all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from controller_runtime.admin import groups
from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.group_results import GroupListing, TopicPartition
from controller_runtime.cli import consumer_groups_describe, consumer_groups_reset, group_calls
from controller_runtime.cli.admin_tools import BadCommand, complain, with_admin
from controller_runtime.cli.consumer_groups_options import DEFAULT_TIMEOUT_MS, OPTIONS, check, parse
from controller_runtime.cli.error_words import words
from controller_runtime.cli.group_calls import IllegalArgument, Thrown
from controller_runtime.cli.group_words import MISSING, columns, exception
from controller_runtime.cli.options import BadOption, Given
from controller_runtime.protocol.errors import ErrorCode

STATES: Final = (
    "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling",
)  # fmt: skip
TYPES: Final = ("Classic", "Consumer")
_OF_THE_GROUP: Final = frozenset(
    {
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.NON_EMPTY_GROUP,
    }
)
_OF_A_PARTITION: Final = frozenset(
    {
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


def main(argv: Sequence[str]) -> int:
    try:
        given = parse(argv)
    except BadOption as bad:
        return complain(f'Exception in thread "main" {bad.java}: {bad}')
    try:
        action = check(given)
    except BadOption as bad:
        return complain(f'Exception in thread "main" {bad.java}: {bad}')
    try:
        return _run(action, given)
    except IllegalArgument as error:
        OPTIONS.refuse(str(error))
    except Thrown as error:
        return _failed(str(error), error.trace)
    except BadOption as bad:
        return _failed(str(bad), f"{bad.java}: {bad}")
    except (ApiError, AdminError) as error:
        thrown = group_calls.executed(error)
        return _failed(str(thrown), thrown.trace)
    except BadCommand as error:
        return _failed(str(error), str(error))


def _failed(why: str, trace: str) -> int:
    print(f"\nError: Executing consumer group command failed due to {why}")
    sys.stdout.flush()
    print(trace, file=sys.stderr)
    return 0


def _run(action: str, given: Given) -> int:
    if action == "validate-regex":
        from controller_runtime.cli.regex_validation import validate

        return validate(given.value("validate-regex") or "")
    timeout_s = given.number("timeout", DEFAULT_TIMEOUT_MS, 64) / 1000
    reset = consumer_groups_reset.Wanted.of(given)

    async def act(admin: AdminClient) -> None:
        match action:
            case "list":
                await _list(admin, given)
            case "describe":
                await consumer_groups_describe.show(admin, given, await _named(admin, given))
            case "delete":
                await _delete(admin, await _named(admin, given))
            case "reset-offsets":
                await consumer_groups_reset.run(admin, reset, await _named(admin, given))
            case _:
                await _delete_offsets(admin, given)

    return with_admin(given.value("bootstrap-server"), None, given.value("command-config"), act, timeout_s)


async def _named(admin: AdminClient, given: Given) -> list[str]:
    """The groups that are meant."""
    if not given.has("all-groups"):
        return list(dict.fromkeys(given.all("group")))
    return [each.group_id for each in await group_calls.wrapping(_of_consumers(admin))]


async def _of_consumers(
    admin: AdminClient, states: Sequence[str] = (), types: Sequence[str] = ()
) -> list[GroupListing]:
    found = await groups.list_groups(admin, states, types or TYPES)
    return [each for each in found if each.protocol_type in ("consumer", "")]


# list


async def _list(admin: AdminClient, given: Given) -> None:
    if not given.has("state") and not given.has("type"):
        for each in await group_calls.wrapping(_of_consumers(admin)):
            print(each.group_id)
        return
    types, states = _types(given.value("type")), _states(given.value("state"))
    listed = await _of_consumers(admin, states, types)
    shown = ["GROUP"] + ["TYPE"] * given.has("type") + ["STATE"] * given.has("state")
    width = max((15, *(len(each.group_id) for each in listed))) + 10
    widths = [width, *(20 for _ in shown[1:])]
    print(columns(widths, shown))
    for each in listed:
        cells = {"GROUP": each.group_id, "TYPE": _as_java(each.type, TYPES), "STATE": _as_java(each.state, STATES)}
        print(columns(widths, (cells[name] for name in shown)))


def _as_java(name: str | None, names: Sequence[str]) -> str:
    return next((known for known in names if name is not None and known.lower() == name.lower()), "Unknown")


def _types(said: str | None) -> list[str]:
    return _parsed(said, TYPES, "types")


def _states(said: str | None) -> list[str]:
    return _parsed(said, STATES, "state")


def _parsed(said: str | None, known: Sequence[str], what: str) -> list[str]:
    if not said:
        return []
    found = [_as_java(one.strip(), known) for one in said.split(",")]
    if "Unknown" in found:
        one = "types" if what == "types" else "states"
        raise IllegalArgument(f"Invalid {what} list '{said}'. Valid {one} are: {', '.join(known)}")
    return found


# delete


async def _delete(admin: AdminClient, group_ids: Sequence[str]) -> None:
    found = await groups.delete_groups(admin, group_ids)
    done = ", ".join(f"'{group_id}'" for group_id, error in found.items() if error is None)
    refused = {group_id: error for group_id, error in found.items() if error is not None}
    if not refused:
        print(f"Deletion of requested consumer groups ({done}) was successful.")
        return
    print("\nError: Deletion of some consumer groups failed:")
    for group_id, error in refused.items():
        print(f"* Group '{group_id}' could not be deleted due to: {exception(error)}")
    if done:
        print(f"\nThese consumer groups were deleted successfully: {done}")


async def _delete_offsets(admin: AdminClient, given: Given) -> None:
    group_id = given.value("group") or ""
    said = given.all("topic")
    wanted = {one: None for each in said if ":" in each for one in consumer_groups_reset.partitions_of(each)}
    results: dict[TopicPartition, str] = {}
    names = [each for each in said if ":" not in each]
    for name, topic in (await admin.describe_topics(names) if names else {}).items():
        if isinstance(topic, ApiError):
            results[name, -1] = _refused(topic)
        else:
            wanted.update(((name, one.index), None) for one in topic.partitions)
    try:
        found = await groups.delete_offsets(admin, group_id, list(wanted))
    except ApiError as error:
        first: ApiError | None = error
        results.update((one, _refused(error)) for one in wanted)
    else:
        first = next((error for error in found.values() if error is not None), None)
        results.update((one, "Successful" if error is None else _refused(error)) for one, error in found.items())
    _say_first(first, group_id)
    _print_results(results)


def _refused(error: ApiError) -> str:
    return f"Error: {exception(error)}"


def _say_first(error: ApiError | None, group_id: str) -> None:
    if error is None:
        print(f"Request succeeded for deleting offsets from group {group_id}.")
    elif error.code in _OF_THE_GROUP:
        print(f"\nError: {words(error)}")
    elif error.code in _OF_A_PARTITION:
        print("\nError: Encountered some partition-level error, see the follow-up details.")
    else:
        print(f"\nError: Encountered some unknown error: {error.code.name}")


def _print_results(results: dict[TopicPartition, str]) -> None:
    widths = (max((15, *(len(topic) for topic, _ in results))), 10, 15)
    print("\n" + columns(widths, ("TOPIC", "PARTITION", "STATUS")), end="")
    for topic, index in sorted(results, key=lambda one: f"{one[0]}{one[1]}"):
        shown = MISSING if index < 0 else str(index)
        print("\n" + columns(widths, (topic, shown, results[topic, index])), end="")
    print()

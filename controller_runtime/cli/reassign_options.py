"""The command line of `kafka-reassign-partitions`: one action, and what goes with it."""

from __future__ import annotations

from typing import Final

from controller_runtime.cli.options import Given, Option, Table

ACTIONS: Final = ("generate", "execute", "verify", "cancel", "list")
_REQUIRED: Final = {
    "verify": ("reassignment-json-file",),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_PERMITTED: Final = {
    "verify": ("preserve-throttles",),
    "generate": ("disable-rack-aware",),
    "execute": (
        "additional",
        "throttle",
        "replica-alter-log-dirs-throttle",
        "timeout",
        "disallow-replication-factor-change",
    ),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}
_THROUGH_CONTROLLERS: Final = ("cancel", "list")

OPTIONS: Final = Table(
    "This tool helps to move topic partitions between replicas.",
    [
        Option("bootstrap-server", "Brokers to ask.", "Server(s) to use for bootstrapping", optional=True),
        Option("bootstrap-controller", "Controllers to ask (--list, --cancel).", "Controller(s)", optional=True),
        Option("command-config", "Properties of the client.", "Admin client property file"),
        Option("generate", "Propose where the replicas of topics could be. Changes nothing."),
        Option("execute", "Start the reassignment of --reassignment-json-file."),
        Option("verify", "Say how far it got, and lift throttles when it is done."),
        Option("cancel", "Cancel what is under way of --reassignment-json-file."),
        Option("list", "What is under way."),
        Option(
            "reassignment-json-file",
            '{"partitions": [{"topic": "foo", "partition": 1, "replicas": [1,2], "log_dirs": ["dir1","any"]}], '
            '"version": 1}',
            "manual assignment json file path",
        ),
        Option(
            "topics-to-move-json-file",
            '{"topics": [{"topic": "foo"}], "version": 1}',
            "topics to reassign json file path",
        ),
        Option("broker-list", "With --generate: brokers with commas between them.", "brokerlist"),
        Option("disable-rack-aware", "With --generate: do not heed racks."),
        Option("throttle", "Bytes per second between brokers (default: no limit).", "throttle"),
        Option("replica-alter-log-dirs-throttle", "Bytes per second between directories.", "Long"),
        Option("timeout", "Milliseconds to wait for moves between directories to start (default: 10000).", "timeout"),
        Option("additional", "Also while other reassignments are under way."),
        Option("preserve-throttles", "Leave throttles as they are."),
        Option("disallow-replication-factor-change", "Refuse to change the number of replicas."),
    ],
)


def check(given: Given) -> str:
    """The action."""
    names = ", ".join(f"--{one}" for one in ACTIONS)
    action = OPTIONS.exactly_one(given, ACTIONS, f"Command must include exactly one action: {names}")
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        OPTIONS.refuse("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        OPTIONS.refuse("Please specify either --bootstrap-server or --bootstrap-controller")
    OPTIONS.require(given, *_REQUIRED[action])
    permitted = {action, *_REQUIRED[action], *_PERMITTED[action], "command-config", "bootstrap-server"}
    if action in _THROUGH_CONTROLLERS:
        permitted.add("bootstrap-controller")
    for name in given.values:
        if name not in permitted:
            OPTIONS.refuse(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    return action

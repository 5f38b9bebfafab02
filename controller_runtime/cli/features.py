"""`kafka-features`: which feature levels nodes support and which are in force; raising, lowering and disabling them.

All updates of one command go in one request, which is granted whole or refused whole. Raising kraft.version from 0 to 1
makes a quorum of static voters dynamic.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from controller_runtime.admin.client import AdminError, ApiError
from controller_runtime.admin.results import FeaturesDescription, FeatureUpdate
from controller_runtime.cli import progress
from controller_runtime.cli.arguments import Parser, in_java_words
from controller_runtime.cli.bootstrap import BadCommand, Bootstrap, NoSuchConfig, choose
from controller_runtime.cli.java_errors import java_text, timeout_text
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata import features

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3

_USAGE: Final = """\
usage: kafka-features [-h] [--command-config COMMAND_CONFIG]
                      [--bootstrap-server BOOTSTRAP_SERVER |
                      --bootstrap-controller BOOTSTRAP_CONTROLLER]
                      {describe,upgrade,downgrade,disable,version-mapping,feature-dependencies}
                      ...
"""
_HELP: Final = """
  --bootstrap-server      host:port,... of brokers to ask
  --bootstrap-controller  host:port,... of controllers to ask
  --command-config        a properties file for the client
  describe                supported and finalized levels
  upgrade, downgrade      raise or lower levels
  disable                 lower levels to 0
  version-mapping         the levels that a release brings
  feature-dependencies    what a level of a feature needs
"""
_USAGES: Final = {
    "describe": "usage: kafka-features describe [-h] [--node-id NODE_ID]\n",
    "upgrade": (
        "usage: kafka-features upgrade [-h] [--metadata METADATA]\n"
        "                      [--release-version RELEASE_VERSION]\n"
        "                      [--feature FEATURE] [--dry-run]\n"
    ),
    "downgrade": "usage: kafka-features downgrade [-h] [--metadata METADATA]\n"
    "                      [--release-version RELEASE_VERSION]\n"
    "                      [--feature FEATURE] [--unsafe] [--dry-run]\n",
    "disable": "usage: kafka-features disable [-h] [--feature FEATURE] [--unsafe]\n                      [--dry-run]\n",
    "version-mapping": (
        "usage: kafka-features version-mapping [-h]\n                      [--release-version RELEASE_VERSION]\n"
    ),
    "feature-dependencies": "usage: kafka-features feature-dependencies [-h] --feature FEATURE\n",
}
_OPTIONS_HELP: Final = """
  --feature NAME=LEVEL  a feature and its level; may be repeated (disable: only NAME)
  --release-version     all levels of a release, such as 4.3 or 4.3-IV0
  --metadata            deprecated: metadata.version as a release
  --node-id             the node to ask
  --unsafe              even if metadata may be lost
  --dry-run             check, but change nothing
"""


def main(argv: Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    try:
        match arguments.command:
            case "version-mapping":
                _print_mapping(arguments.release_version)
            case "feature-dependencies":
                _print_dependencies(arguments.feature)
            case _:
                _talk(arguments)
    except (BadCommand, features.FeatureError) as error:
        print(error, file=sys.stderr)
        return 1
    except ApiError as error:
        print(java_text(error), file=sys.stderr)
        return 1
    except AdminError as error:
        print(timeout_text(str(error)), file=sys.stderr)
        return 1
    return 0


def _talk(arguments: argparse.Namespace) -> None:
    try:
        bootstrap = choose(arguments.bootstrap_server, arguments.bootstrap_controller, arguments.command_config)
    except NoSuchConfig as error:
        raise BadCommand(error.path) from error
    except BadCommand as error:
        _command_line_error(str(error))
    if arguments.command == "describe":
        print("\n".join(description(progress.run(_describe(bootstrap, arguments.node_id)))))
        return
    updates = wanted(arguments)
    refusal = progress.run(_update(bootstrap, updates, dry_run=arguments.dry_run))
    print("\n".join(outcome(arguments.command, updates, refusal, dry_run=arguments.dry_run)))
    if refusal is not None:
        raise BadCommand(f"{len(updates)} out of {len(updates)} operation(s) failed.")


async def _describe(bootstrap: Bootstrap, node_id: int | None) -> FeaturesDescription:
    async with bootstrap.admin() as admin:
        return await admin.describe_features(None if node_id is None else NodeId(node_id))


async def _update(bootstrap: Bootstrap, updates: Mapping[str, FeatureUpdate], *, dry_run: bool) -> str | None:
    """Why it was refused, or None."""
    async with bootstrap.admin() as admin:
        try:
            await admin.update_features(list(updates.values()), validate_only=dry_run)
        except ApiError as error:
            return error.message
        except AdminError as error:
            return str(error)
    return None


def description(found: FeaturesDescription) -> Iterator[str]:
    epoch = found.finalized_epoch if found.finalized_epoch >= 0 else "-"
    for name, (lowest, highest) in sorted(found.supported.items()):
        lines = (
            f"Feature: {name:<42}",
            f"SupportedMinVersion: {_shown(name, lowest):<17}",
            f"SupportedMaxVersion: {_shown(name, highest):<17}",
            f"FinalizedVersionLevel: {_shown(name, found.finalized.get(name, 0)):<17}",
            f"Epoch: {epoch}",
        )
        yield "".join(lines)


def _shown(name: str, level: int) -> str:
    if name != features.METADATA_VERSION:
        return str(level)
    try:
        return features.metadata_version(level).name
    except features.FeatureError:
        return f"UNKNOWN [{level}]"


def outcome(command: str, updates: Mapping[str, FeatureUpdate], refusal: str | None, *, dry_run: bool) -> Iterator[str]:
    """One line per feature, in the order of their names."""
    for name in sorted(updates):
        level = updates[name].level
        if refusal is not None:
            verb = "Can not" if dry_run else "Could not"
            yield f"{verb} {command} {name}{'' if command == 'disable' else f' to {level}'}. {refusal}"
        else:
            verb = "can be" if dry_run else "was"
            yield f"{name} {verb} {command}d{'' if command == 'disable' else f' to {level}'}."


def wanted(arguments: argparse.Namespace) -> dict[str, FeatureUpdate]:
    """The updates that a command line asks for, by name."""
    if arguments.command == "disable":
        kind = UNSAFE_DOWNGRADE if arguments.unsafe else SAFE_DOWNGRADE
        return _updates("disable", [(name, 0) for name in arguments.feature or ()], kind)
    kind = UPGRADE
    if arguments.command == "downgrade":
        kind = UNSAFE_DOWNGRADE if arguments.unsafe else SAFE_DOWNGRADE
    release, metadata = arguments.release_version, arguments.metadata
    if release is not None:
        if metadata is not None or arguments.feature is not None:
            raise BadCommand("Can not specify `release-version` with other feature flags.")
        level = features.parse_release(release, unstable=True).level
        defaults = [(one.name, one.default_level(level)) for one in features.FEATURES.values()]
        levels = [(features.METADATA_VERSION, level), *((n, at) for n, at in defaults if at > 0 or kind != UPGRADE)]
        return _updates(arguments.command, levels, kind)
    levels = []
    if metadata is not None:
        print(" `metadata` flag is deprecated and may be removed in a future release.")
        levels.append((features.METADATA_VERSION, features.parse_release(metadata, unstable=True).level))
    levels += [_name_and_level(text) for text in arguments.feature or ()]
    return _updates(arguments.command, levels, kind)


def _updates(command: str, levels: Sequence[tuple[str, int]], kind: int) -> dict[str, FeatureUpdate]:
    updates: dict[str, FeatureUpdate] = {}
    for name, level in levels:
        if level < 0:
            raise BadCommand("Cannot specify a negative version level.")
        if level == 0 and kind == UPGRADE:
            raise BadCommand(
                "The upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE when the provided "
                f"maxVersionLevel:{level} is < 1."
            )
        if name in updates:
            raise BadCommand(f"Feature {name} was specified more than once.")
        updates[name] = FeatureUpdate(name, level, kind)
    if not updates:
        raise BadCommand(f"You must specify at least one feature to {command}")
    return updates


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals:
        raise BadCommand(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = int(level.strip())
    except ValueError:
        number = 1 << 15
    if not -(1 << 15) <= number < 1 << 15:
        raise BadCommand(f"Can't parse feature=level string {text}: unable to parse {level.strip()} as a short.")
    return name.strip(), number


def _print_mapping(release: str | None) -> None:
    from controller_runtime.cli.storage import version_mapping

    print("\n".join(version_mapping(release, unstable=True)))


def _print_dependencies(asked: Sequence[str]) -> None:
    from controller_runtime.cli.initial_controllers import StorageToolError
    from controller_runtime.cli.storage import feature_dependencies

    try:
        for name, level in map(_name_and_level, asked):
            print("\n".join(feature_dependencies(name, level, "No feature:{name} with feature level {level}")))
    except StorageToolError as error:
        raise BadCommand(str(error)) from error


def _command_line_error(message: str) -> NoReturn:
    print(f"Command line error: {message}. Type --help for help.", file=sys.stderr, end="")
    raise SystemExit(1)


class _FeaturesParser(Parser):
    """Says what is wrong with a command line in one line, without the usage, as this one of Kafka's tools does."""

    def error(self, message: str) -> NoReturn:
        _command_line_error(in_java_words(message))


def _parser() -> Parser:
    parser = _FeaturesParser(_USAGE, _HELP, prog="kafka-features")
    addresses = parser.add_mutually_exclusive_group()
    addresses.add_argument("--bootstrap-server")
    addresses.add_argument("--bootstrap-controller")
    parser.add_argument("--command-config")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_FeaturesParser)
    parsers = {
        name: commands.add_parser(name, usage_text=usage, help_text=_OPTIONS_HELP) for name, usage in _USAGES.items()
    }
    parsers["describe"].add_argument("--node-id", type=int)
    for name in ("upgrade", "downgrade"):
        parsers[name].add_argument("--metadata")
        parsers[name].add_argument("--release-version")
    for name in ("upgrade", "downgrade", "disable"):
        parsers[name].add_argument("--feature", action="append")
        parsers[name].add_argument("--dry-run", action="store_true")
    for name in ("downgrade", "disable"):
        parsers[name].add_argument("--unsafe", action="store_true")
    parsers["version-mapping"].add_argument("--release-version")
    parsers["feature-dependencies"].add_argument("--feature", action="append", required=True)
    return parser

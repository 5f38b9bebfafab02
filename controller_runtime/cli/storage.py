"""`kafka-storage`: format a node's log directories, look at them, and the small questions around it.

Flags, output and exit codes are those of Apache Kafka 4.3. `format` decides everything before it touches a disk; a
refusal leaves no directory behind.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from controller_runtime.cli.arguments import Parser
from controller_runtime.cli.initial_controllers import StorageToolError, Uncaught, illegal, parse_initial_controllers
from controller_runtime.cli.scram import BadScram, scram_records
from controller_runtime.configuration.config import ConfigError, ServerConfig, load
from controller_runtime.identifiers import DirectoryId, Endpoint, Uuid
from controller_runtime.metadata import features
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.schema import Struct
from controller_runtime.storage import formatting
from controller_runtime.storage.errors import CorruptFile, StorageError
from controller_runtime.storage.filesystem import OsFileSystem, join, read_whole
from controller_runtime.storage.formatting import FormatRequest, InitialVoter, format_directory
from controller_runtime.storage.meta_properties import META_PROPERTIES, MetaProperties, decode_meta_properties

UNSTABLE: Final = "unstable.feature.versions.enable"
_MAPPING_ORDER: Final = (
    "kraft.version",
    "transaction.version",
    "group.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
)
_USAGE: Final = """\
usage: kafka-storage [-h]
                     {info,format,version-mapping,feature-dependencies,random-uuid}
                     ...
"""
_HELP: Final = """
  info                  what the log directories of this node say
  format                format them, once
  version-mapping       the feature levels that a release brings
  feature-dependencies  what a level of a feature needs
  random-uuid           a new cluster or directory id
"""
_USAGES: Final = {
    "info": "usage: kafka-storage info [-h] --config CONFIG\n",
    "format": """\
usage: kafka-storage format [-h] --config CONFIG --cluster-id CLUSTER_ID
                     [--add-scram ADD_SCRAM] [--ignore-formatted]
                     [--release-version RELEASE_VERSION]
                     [--feature FEATURE] [--standalone |
                     --no-initial-controllers |
                     --initial-controllers INITIAL_CONTROLLERS]
""",
    "version-mapping": (
        "usage: kafka-storage version-mapping [-h]\n                     [--release-version RELEASE_VERSION]\n"
    ),
    "feature-dependencies": "usage: kafka-storage feature-dependencies [-h] --feature FEATURE\n",
    "random-uuid": "usage: kafka-storage random-uuid [-h]\n",
}
_OPTIONS_HELP: Final = """
  -c, --config                   the node's server.properties
  -t, --cluster-id               the id of the cluster, the same on every node
  -s, --standalone               begin a quorum of this controller alone
  -I, --initial-controllers      begin a quorum of id@host:port:directory,...
  -N, --no-initial-controllers   wait to be added to a quorum that runs
  -S, --add-scram                a SCRAM credential for the first records; may be repeated
  -g, --ignore-formatted         leave directories alone that are formatted
  -r, --release-version          the feature levels of this release
  -f, --feature                  name=level; may be repeated
"""
_SALT_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def main(argv: Sequence[str]) -> int:
    """Run the tool; returns the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        match arguments.command:
            case "info":
                return _info(load(arguments.config))
            case "format":
                _format(arguments, load(arguments.config))
            case "version-mapping":
                print("\n".join(version_mapping(arguments.release_version)))
            case "feature-dependencies":
                for name, level in _feature_levels(arguments.feature or []).items():
                    print("\n".join(feature_dependencies(name, level)))
            case _:
                print(random_uuid())
    except (StorageToolError, BadScram, StorageError, ConfigError, features.FeatureError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def random_uuid() -> Uuid:
    """As Kafka's `Uuid.randomUuid`: version 4, none of the reserved ones, no leading dash."""
    while not formatting.usable_directory_id(candidate := Uuid(uuid4().bytes)):
        pass
    return candidate


def java_date(seconds: float) -> str:
    """The date comment of a Java properties file, in UTC."""
    return time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(seconds))


# format


def _format(arguments: argparse.Namespace, config: ServerConfig) -> None:
    levels = _feature_levels(arguments.feature or [])
    if arguments.release_version is not None and features.METADATA_VERSION in levels:
        raise StorageToolError("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
    unstable = config.settings.has(UNSTABLE) and config.settings.boolean(UNSTABLE)
    if arguments.release_version is not None:
        features.parse_release(arguments.release_version, unstable=unstable)
    voters = _initial_voters(arguments, config)
    _check_kraft_version(levels, config)
    records = _bootstrap_records(arguments, levels, unstable=unstable)
    request = FormatRequest(
        cluster_id=arguments.cluster_id,
        node_id=config.node_id,
        directories=config.log_dirs,
        metadata_dir=config.metadata_log_dir,
        bootstrap_values=[encode_record(record, version) for record, version in records],
        voters=voters,
        controller_listener=config.controller_listener_names[0],
        ignore_formatted=arguments.ignore_formatted,
    )
    filesystem = OsFileSystem()
    directories = formatting.directories_to_format(filesystem, request)
    if not directories:
        print("All of the log directories are already formatted.")
        return
    level = _metadata_level(records)
    print(f"Bootstrap metadata: {_java_bootstrap(records, level)}")
    now = time.time()
    name = features.metadata_version(level).name
    for directory in directories:
        print(f"Formatting {formatting.describe(directory, request)} {directory} with metadata.version {name}.")
        format_directory(
            filesystem, directory, request, now=int(now * 1000), date=java_date(now), new_directory_id=_new_directory_id
        )


def _new_directory_id() -> DirectoryId:
    return DirectoryId(random_uuid())


def _feature_levels(arguments: Sequence[str]) -> dict[str, int]:
    levels: dict[str, int] = {}
    for argument in arguments:
        name, equals, level = argument.partition("=")
        if not equals or not level.strip().lstrip("-").isdecimal():
            raise Uncaught(
                "java.lang.RuntimeException", f"Can't parse feature=level string {argument}: equals sign not found."
            )
        if name.strip() in levels:
            raise Uncaught("java.lang.RuntimeException", f"Feature {name.strip()} was specified more than once.")
        levels[name.strip()] = int(level)
    return levels


def _initial_voters(arguments: argparse.Namespace, config: ServerConfig) -> list[InitialVoter]:
    if config.quorum_voters and (arguments.initial_controllers is not None or arguments.standalone):
        raise StorageToolError(
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or "
            "--standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify "
            "controller.quorum.bootstrap.servers instead."
        )
    if arguments.initial_controllers is not None:
        return parse_initial_controllers(arguments.initial_controllers)
    if arguments.standalone:
        if not config.is_controller:
            raise StorageToolError("You can only use --standalone on a controller.")
        return [InitialVoter(config.node_id, _new_directory_id(), _own_endpoint(config))]
    if not arguments.no_initial_controllers and config.is_controller and not config.quorum_voters:
        raise StorageToolError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )
    return []


def _own_endpoint(config: ServerConfig) -> Endpoint:
    listener = config.controller_listeners[0]
    if not listener.host and not config.settings.has("advertised.listeners"):
        return Endpoint("localhost", listener.port)
    return config.advertised[listener.name]


def _check_kraft_version(levels: Mapping[str, int], config: ServerConfig) -> None:
    """kraft.version follows from how the voters are known; saying otherwise is refused."""
    wanted = levels.get(features.KRAFT_VERSION)
    if wanted is not None and not 0 <= wanted <= features.FEATURES[features.KRAFT_VERSION].latest_production_level:
        raise illegal(f"No feature:{features.KRAFT_VERSION} with feature level {wanted}")
    flags = "one of the flags --standalone, --initial-controllers, or --no-initial-controllers"
    if wanted == 0 and not config.quorum_voters:
        raise StorageToolError(
            f"Cannot set kraft.version to 0 if controller.quorum.voters is empty and {flags} is used. "
            "For dynamic controllers support, try removing the --feature flag for kraft.version."
        )
    if wanted == 1 and config.quorum_voters:
        raise StorageToolError(
            f"Cannot set kraft.version to 1 unless controller.quorum.voters is empty and {flags} is used. "
            "For dynamic controllers support, try using one of --standalone, --initial-controllers, or "
            "--no-initial-controllers and removing controller.quorum.voters."
        )


def _bootstrap_records(
    arguments: argparse.Namespace, levels: Mapping[str, int], *, unstable: bool
) -> list[VersionedRecord]:
    try:
        records = list(features.bootstrap_records(arguments.release_version, levels, unstable=unstable))
    except features.UnmetDependency as error:
        raise illegal(str(error)) from error
    scram = scram_records(arguments.add_scram or [], _new_salt)
    if scram and _metadata_level(records) < features.SCRAM:
        raise StorageToolError("SCRAM is only supported in metadata.version 3.5-IV2 or later.")
    return [*records, *((record, 0) for record in scram)]


def _metadata_level(records: Sequence[VersionedRecord]) -> int:
    first: Any = records[0][0]
    return int(first.feature_level)


def _new_salt() -> bytes:
    """As Kafka's `secureRandomString`: 130 random bits as lower-case letters and digits."""
    number = int.from_bytes(os.urandom(17), "big") >> 6
    letters = ""
    while number:
        number, digit = divmod(number, 36)
        letters = _SALT_LETTERS[digit] + letters
    return letters.encode()


def _java_bootstrap(records: Sequence[VersionedRecord], level: int) -> str:
    texts = [f"ApiMessageAndVersion({_java_text(record)} at version {version})" for record, version in records]
    return f"BootstrapMetadata(records=[{', '.join(texts)}], metadataVersionLevel={level}, source=format command)"


def _java_text(record: Struct) -> str:
    """A record as Java's generated `toString` prints it."""
    fields = [f"{spec.json_name}={_java_value(getattr(record, spec.name))}" for spec in type(record).FIELDS]
    return f"{type(record).__name__}({', '.join(fields)})"


def _java_value(value: object) -> str:
    if isinstance(value, bytes):
        return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"
    return f"'{value}'" if isinstance(value, str) else str(value)


# info and the rest


def _info(config: ServerConfig) -> int:
    """Print what the directories say; 1 if something is wrong with them."""
    filesystem = OsFileSystem()
    found: list[str] = []
    problems: list[str] = []
    first: MetaProperties | None = None
    for directory in sorted({*config.log_dirs, config.metadata_log_dir}):
        path = join(directory, META_PROPERTIES)
        if not filesystem.is_directory(directory):
            problems.append(f"{directory} {'is not a directory' if filesystem.exists(directory) else 'does not exist'}")
            continue
        found.append(directory)
        if not filesystem.exists(path):
            problems.append(f"{directory} is not formatted.")
            continue
        try:
            current = decode_meta_properties(read_whole(filesystem, path), path)
        except CorruptFile as error:
            problems.append(f"Error loading {path}: {error.reason}")
            continue
        first = first or current
        if (current.cluster_id, current.node_id) != (first.cluster_id, first.node_id):
            problems.append(f"Metadata for {path} was {current}, but other directories featured {first}")
    _print_list("Found log director", ("y", "ies"), found)
    if first is not None:
        print(f"Found metadata: {first}\n")
    _print_list("Found problem", ("", "s"), problems)
    return 1 if problems else 0


def _print_list(title: str, endings: tuple[str, str], items: Sequence[str]) -> None:
    if items:
        print(f"{title}{endings[len(items) > 1]}:", *(f"  {item}" for item in items), "", sep="\n")


def version_mapping(release: str | None, *, unstable: bool = False) -> Iterator[str]:
    """The levels that a release brings; the latest stable one by default. `kafka-features` prints the same."""
    version = (
        features.parse_release(release, unstable=unstable)
        if release
        else features.metadata_version(features.LATEST_PRODUCTION_LEVEL)
    )
    yield f"metadata.version={version.level} ({release or version.name})"
    for name in _MAPPING_ORDER:
        yield f"{name}={features.FEATURES[name].default_level(version.level)}"


def feature_dependencies(
    name: str, level: int, unsupported: str = "Feature level {level} is not supported for feature {name}"
) -> Iterator[str]:
    """What a level of a feature needs. Raises Refused, in these words for a level that is none."""
    if name == features.METADATA_VERSION:
        if not features.MINIMUM_LEVEL <= level <= len(features.METADATA_VERSIONS):
            raise StorageToolError(f"Unknown metadata.version {level}")
        yield f"{name}={level} ({features.metadata_version(level).name}) has no dependencies."
        return
    if name not in features.FEATURES:
        raise StorageToolError(f"Unknown feature: {name}")
    feature = features.FEATURES[name]
    if not 0 <= level <= feature.latest_production_level:
        raise StorageToolError(unsupported.format(name=name, level=level))
    needs = feature.needs.get(level, {})
    yield f"{name}={level} requires:" if needs else f"{name}={level} has no dependencies."
    for other, least in needs.items():
        suffix = f" ({features.metadata_version(least).name})" if other == features.METADATA_VERSION else ""
        yield f"    {other}={least}{suffix}"


def _parser() -> Parser:
    parser = Parser(_USAGE, _HELP, prog="kafka-storage")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    parsers = {
        name: commands.add_parser(name, usage_text=usage, help_text=_OPTIONS_HELP) for name, usage in _USAGES.items()
    }
    form = parsers["format"]
    form.add_argument("--cluster-id", "-t", required=True)
    for name in ("info", "format"):
        parsers[name].add_argument("--config", "-c", required=True)
    form.add_argument("--add-scram", "-S", action="append")
    form.add_argument("--ignore-formatted", "-g", action="store_true")
    form.add_argument("--release-version", "-r")
    form.add_argument("--feature", "-f", action="append")
    mode = form.add_mutually_exclusive_group()
    mode.add_argument("--standalone", "-s", action="store_true")
    mode.add_argument("--no-initial-controllers", "-N", action="store_true")
    mode.add_argument("--initial-controllers", "-I")
    parsers["version-mapping"].add_argument("--release-version", "-r")
    parsers["feature-dependencies"].add_argument("--feature", "-f", action="append", required=True)
    return parser

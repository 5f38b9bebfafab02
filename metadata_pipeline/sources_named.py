"""What a command line names to read from: paths, and living quorums with what opens them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from metadata_pipeline.problems import PipelineError

if TYPE_CHECKING:
    from metadata_pipeline.wire.fleet import Quorum


def add_sources(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="log directories, or directories above them; also s3://, gs://, hdfs://",
    )
    one.add_argument("--bootstrap-controller", metavar="HOST:PORT,...", help="a living quorum, read from its leader")
    one.add_argument("--command-config", metavar="FILE", help="Kafka's client properties for it: TLS, SASL")
    one.add_argument("--cluster-id", metavar="ID", help="its cluster id (without: DescribeCluster is asked)")
    one.add_argument(
        "--fleet", metavar="FILE", help="a file of living quorums: name, bootstrap, cluster-id, properties"
    )
    one.add_argument("--rate-limit", type=_bytes, metavar="BYTES", help="read so much a second of each living quorum")


def _bytes(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


def quorums_of(options: argparse.Namespace) -> tuple[Quorum, ...]:
    """The living quorums that were named. Raises PipelineError also when nothing at all was."""
    if options.bootstrap_controller is None and options.fleet is None:
        if not options.paths:
            raise PipelineError("nothing to read is named", "give PATHs, --bootstrap-controller, or --fleet")
        return ()
    from metadata_pipeline.wire.fleet import Quorum, read_fleet

    named = () if options.fleet is None else read_fleet(options.fleet)
    if options.bootstrap_controller is None:
        return named
    address = options.bootstrap_controller
    return (*named, Quorum(address, address, options.cluster_id, options.command_config))

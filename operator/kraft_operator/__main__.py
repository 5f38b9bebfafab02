"""The process: wait for the Lease, then watch and work until told to stop or until the Lease is lost.

kopf runs in the main thread (it takes SIGTERM only there) and only brings events; workers, Lease and health server are
threads of their own, because kopf cancels what it does not know. The way out is in the same order: no new work, the
passes under way end, the Lease is released.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import secrets
import signal
import socket
import sys
import threading
import time
from typing import Final

import kopf

from controller_runtime.identifiers import Uuid
from kraft_operator import selftest
from kraft_operator.events import Recorder
from kraft_operator.handlers import children, clusters, operations, process, routes, users
from kraft_operator.handlers.memo import Memo
from kraft_operator.health_server import HealthServer, Heartbeats
from kraft_operator.kube import connect
from kraft_operator.lease import Keeper, LeaseLost
from kraft_operator.metrics import Metrics
from kraft_operator.plan.brake import MAX_LIMIT
from kraft_operator.quorum import KafkaProbe
from kraft_operator.reconcile import Reconciler
from kraft_operator.replacements import LeaseAccount
from kraft_operator.routes_seen import watchable
from kraft_operator.settings import BadSetting, Failpoints, LeaseTimes, Settings
from kraft_operator.work_queue import WorkQueue
from kraft_operator.workers import Workers

logger: Final = logging.getLogger("kraft_operator")
SELFTEST: Final = "selftest"
HANDLERS: Final = (clusters, children, operations, process, users)
"""Imported for their decorators."""


def settings_from(arguments: list[str], environment: dict[str, str]) -> Settings:
    """Command line first, then the environment."""
    own_namespace = environment.get("POD_NAMESPACE", "default")
    parser = argparse.ArgumentParser(
        prog="kraft-operator",
        description="Operates KRaft clusters on Kubernetes.",
        epilog=f"`kraft-operator {SELFTEST}` with the same options looks whether the installation is whole, and ends.",
    )
    parser.add_argument("--namespace", action="append", default=[], help="watch only this namespace (repeatable)")
    parser.add_argument(
        "--rights-in-namespaces-only", action="store_true",
        default=environment.get("CLUSTER_WIDE_RIGHTS") == "Disabled",
        help="this installation may see nothing that has no namespace: volumes, Kubernetes nodes, storage classes",
    )  # fmt: skip
    parser.add_argument("--lease-namespace", default=own_namespace, help="where the Lease is that says who acts")
    parser.add_argument("--lease-name", default="kraft-operator", help="its name")
    image = environment.get("OPERATOR_IMAGE", "quorate/operator:dev")
    parser.add_argument("--operator-image", default=image, help="what the guards and helpers in the nodes' pods run")
    parser.add_argument("--http-port", type=int, default=9404, help="of probes and metrics")
    parser.add_argument("--workers", type=int, default=4, help="how many clusters are looked at at a time")
    parser.add_argument(
        "--resync-seconds", type=float, default=600.0, help="how often everything watched is listed anew"
    )
    parser.add_argument("--probe-seconds", type=float, default=5.0, help="how often a quiet cluster is looked at")
    parser.add_argument(
        "--max-replacements-per-hour", type=_limit, default=environment.get("MAX_REPLACEMENTS_PER_HOUR") or "10",
        help="how many replacements of lost voters are begun within an hour, in all clusters together; 0: any number",
    )  # fmt: skip
    parser.add_argument(
        "--lease-seconds", type=float, nargs=3, default=None, metavar=("DURATION", "RENEW", "RETRY"),
        help="how long the Lease lasts, when its holder gives up renewing it, how often it is tried",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="log everything")
    given = parser.parse_args(arguments)
    watched = given.namespace or [each for each in environment.get("WATCH_NAMESPACES", "").split(",") if each]
    logging.getLogger().setLevel(logging.DEBUG if given.verbose else logging.INFO)
    return Settings(
        identity=f"{environment.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}",
        lease_namespace=given.lease_namespace,
        lease_name=given.lease_name,
        namespaces=tuple(watched),
        sees_without_namespace=not given.rights_in_namespaces_only,
        operator_image=given.operator_image,
        http_port=given.http_port,
        workers=given.workers,
        resync_seconds=given.resync_seconds,
        probe_seconds=given.probe_seconds,
        replacements_per_hour=given.max_replacements_per_hour,
        lease=LeaseTimes(*given.lease_seconds) if given.lease_seconds else LeaseTimes(),
        failpoints=Failpoints.parse(environment.get("KRAFT_OPERATOR_FAILPOINTS", "")),
    )


def _limit(text: str) -> int:
    number = int(text)
    if not 0 <= number <= MAX_LIMIT:
        raise argparse.ArgumentTypeError(f"{number} is not between 0 and {MAX_LIMIT}")
    return number


def selftest_of(settings: Settings) -> int:
    """`kraft-operator selftest`, with the same settings: what is wrong with this installation."""
    lease = settings.lease_namespace, settings.lease_name
    problems = selftest.run(connect(Metrics()), lease, settings.namespaces, everywhere=settings.sees_without_namespace)
    for problem in problems:
        print(f"selftest: {problem}")
    print(f"selftest: {len(problems)} problems" if problems else "selftest: all is well")
    return 1 if problems else 0


def main(arguments: list[str] | None = None) -> int:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("kopf.objects", "kopf.activities", "urllib3", "kubernetes", "controller_runtime"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    given = sys.argv[1:] if arguments is None else arguments
    try:
        settings = settings_from([each for each in given if each != SELFTEST], dict(os.environ))
    except BadSetting as error:
        print(f"kraft-operator: {error}", file=sys.stderr)
        return 2
    return selftest_of(settings) if SELFTEST in given[:1] else run(settings)


def run(settings: Settings) -> int:
    metrics, heartbeats = Metrics(), Heartbeats()
    kube = connect(metrics)
    started = threading.Event()
    health = HealthServer(settings.http_port, heartbeats, metrics, started.is_set)
    health.start()
    metrics.set("kraft_operator_leader", 0)
    keeper = Keeper(kube, (settings.lease_namespace, settings.lease_name), settings.identity, settings.lease, abandon)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # a standby has nothing to finish; kopf takes over later
    started.set()
    try:
        term = keeper.acquire()
    except (LeaseLost, KeyboardInterrupt):
        return 1
    logger.info("leading as %s, term %d", term.holder, term.transitions)
    metrics.set("kraft_operator_leader", 1)
    recorder = Recorder(kube, settings.identity)
    account = LeaseAccount(kube, settings.lease_namespace, settings.lease_name, settings.replacements_per_hour)
    probe = KafkaProbe()
    reconciler = Reconciler(
        kube, probe, holder=keeper, account=account, settings=settings, metrics=metrics, draw=_draw, recorder=recorder
    )
    queue = WorkQueue(time.monotonic, random.random, metrics)
    memo = Memo(queue, reconciler.index)
    if (kind := watchable(kube, settings.namespaces)) is not None:
        routes.watch(kind, memo)
    workers = Workers(reconciler, queue, heartbeats, abandon)
    workers.start()
    try:
        asyncio.run(_watch(settings, memo, heartbeats))
    finally:
        workers.stop(settings.lease.renew_deadline)
        probe.close()
        keeper.release()
        health.stop()
    return 0


def abandon(why: str) -> None:
    """Somebody else may be acting: end now, finish nothing."""
    logger.error("no longer the one who acts: %s", why)
    logging.shutdown()
    os._exit(1)


async def _watch(settings: Settings, memo: Memo, heartbeats: Heartbeats) -> None:
    """Returns when kopf was told to stop. The beat is older than kopf's tasks, so kopf leaves it alone."""
    beat = asyncio.create_task(heartbeats.keep_beating("watch"))
    try:
        await kopf.operator(
            standalone=True, clusterwide=not settings.namespaces, namespaces=settings.namespaces, memo=memo
        )
    finally:
        beat.cancel()


def _draw() -> str:
    """A random uuid as Kafka draws them: version 4, and none that begins with a dash, which tools take for
    an option.
    """
    while True:
        raw = bytearray(secrets.token_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = str(Uuid(bytes(raw)))
        if not text.startswith("-"):
            return text


if __name__ == "__main__":
    sys.exit(main())

"""Threads that take keys from the queue and reconcile them, and the thread that lists everything now and then.

A failure is retried later and later; losing the Lease or the fence ends the process, because somebody else may be
acting. The periodic live lists make the index whole and find what no event said: kopf never notices a deletion that
happened while its watch was broken.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final

from kraft_operator.fence import FenceLost, Stale
from kraft_operator.health_server import Heartbeats
from kraft_operator.keys import Key
from kraft_operator.kube import Conflict, KubeError, TooManyRequests
from kraft_operator.lease import LeaseLost, LeaseRunsOut
from kraft_operator.metrics import Metrics
from kraft_operator.quorum import AdminFailed
from kraft_operator.reconcile import Reconciler
from kraft_operator.settings import Settings
from kraft_operator.work_queue import WorkQueue

logger: Final = logging.getLogger("kraft_operator")


class Workers:
    def __init__(
        self,
        reconciler: Reconciler,
        queue: WorkQueue,
        heartbeats: Heartbeats,
        abandon: Callable[[str], None],
    ) -> None:
        """`abandon` ends the process; it may return only in tests."""
        self._reconciler, self._queue, self._heartbeats, self._abandon = reconciler, queue, heartbeats, abandon
        self._settings: Settings = reconciler.settings
        self._metrics: Metrics = reconciler.metrics
        self._stop = threading.Event()
        count = self._settings.workers
        self._threads = [threading.Thread(target=self._work, name=f"worker-{number}") for number in range(count)]
        self._threads.append(threading.Thread(target=self._resync, name="resync"))

    def start(self) -> None:
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def stop(self, seconds: float) -> None:
        """Let the passes under way end; what does not end in time is left to the fence."""
        self._stop.set()
        self._queue.close()
        for thread in self._threads:
            thread.join(seconds)

    def _work(self) -> None:
        while (key := self._queue.take()) is not None:
            with self._heartbeats.working(threading.current_thread().name):
                self._one(key)

    def _one(self, key: Key) -> None:
        started = self._reconciler.clock()
        result = "success"
        try:
            again = self._reconciler.reconcile(key)
            if again is not None:
                self._metrics.set(
                    "kraft_operator_last_success_timestamp_seconds", time.time(), namespace=key.namespace, name=key.name
                )
            self._queue.done(key, again)
        except (LeaseLost, FenceLost) as error:
            self._abandon(f"{key}: {type(error).__name__}: {error}")
            result = "fenced"
        except (Conflict, Stale, LeaseRunsOut) as error:
            result = "stale"
            wait = self._queue.failed(key)
            logger.info("%s: %s; again in %.1f s", key, error, wait)
        except (KubeError, AdminFailed) as error:
            result = "error"
            wait = self._queue.failed(key, error.retry_after if isinstance(error, TooManyRequests) else 0.0)
            logger.warning("%s: %s; again in %.1f s", key, error, wait)
        except Exception:
            result = "bug"
            wait = self._queue.failed(key)
            logger.error("%s: unexpected; again in %.1f s\n%s", key, wait, traceback.format_exc())
        self._metrics.add("kraft_operator_reconcile_total", result=result)
        self._metrics.observe("kraft_operator_reconcile_seconds", self._reconciler.clock() - started)

    def _resync(self) -> None:
        while True:
            try:
                for key in self._reconciler.index.resync(self._settings.namespaces):
                    self._queue.add(key)
                wait = self._settings.resync_seconds * random.uniform(0.9, 1.1)
            except KubeError as error:
                logger.warning("resync: %s", error)
                wait = 10.0
            for _ in range(max(1, int(wait / 10.0))):
                self._heartbeats.beat("resync")
                if self._stop.wait(min(10.0, wait)):
                    return

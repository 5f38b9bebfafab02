"""Real brokers, each in a network and on a disk of its own, are killed, frozen, cut off and run out of disk, while
librdkafka writes a queue and carries it out in transactions: nothing acknowledged is lost, nothing is there twice, and
nothing is carried out twice or by half (`support.fault_histories`).

A run tells one history of its seed, `make soak` 2,000.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.clients.own_network import own_network
from support.clients.programs import unavailable
from support.fault_histories.telling import tell_many
from support.sampling import SOAK

pytestmark = [pytest.mark.interop, pytest.mark.slow]

HISTORIES = 2_000 if SOAK else 1
NEEDED = ("ip", "iptables", "nsenter", "unshare")


@pytest.mark.timeout(0)
def test_what_was_acknowledged_is_there_once_whatever_befalls_the_brokers(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """TXN-26."""
    if missing := [each for each in NEEDED if shutil.which(each) is None]:
        unavailable(f"no {', '.join(missing)} on PATH (Debian: iproute2 iptables util-linux)")
    with own_network():
        told = tell_many(tmp_path, run_seed, HISTORIES, sampled)
    assert not [str(each) for each in told if each.complaints]

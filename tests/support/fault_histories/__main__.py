"""python -m support.fault_histories --histories 200 --seed 1"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

from support.clients.own_network import own_network
from support.fault_histories.telling import tell_many


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m support.fault_histories", description=__doc__)
    parser.add_argument("--histories", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first one; the next ones have the next numbers")
    wanted = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="quorate-histories-"))
    with own_network():
        told = tell_many(directory, wanted.seed, wanted.histories, partial(print, flush=True))
    wrong = [each for each in told if each.complaints]
    orders, seconds = sum(each.orders for each in told), sum(each.seconds for each in told)
    print(
        f"{len(told)} histories, {orders:,} orders, {seconds:,.0f} s; {len(wrong)} with complaints; files: {directory}"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

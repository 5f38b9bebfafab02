from __future__ import annotations

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import parse_bootstrap
from controller_runtime.identifiers import Endpoint

pytestmark = pytest.mark.unit


def test_addresses_are_read_from_text_lists_and_endpoints() -> None:
    both = (Endpoint("a", 1), Endpoint("::1", 2))
    assert parse_bootstrap("a:1,[::1]:2") == both
    assert parse_bootstrap(["a:1", Endpoint("::1", 2)]) == both


@pytest.mark.parametrize("bad", ["nonsense", "a:", ":1", "a:x", "a:70000", "a:0"])
def test_a_bad_address_is_named_in_the_words_of_kafka(bad: str) -> None:
    with pytest.raises(ValueError, match=f"Invalid url in bootstrap.servers: {bad}"):
        parse_bootstrap(bad)


async def test_exactly_one_kind_of_address_is_needed() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        AdminClient()
    with pytest.raises(ValueError, match="exactly one"):
        AdminClient(bootstrap_servers="a:1", bootstrap_controllers="a:1")
    with pytest.raises(ValueError, match="No resolvable bootstrap urls"):
        AdminClient(bootstrap_servers="")

"""What a file says about connections, in Kafka's words where it makes no sense."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller_runtime.metadata.broker_config_relations import Together, Values

_OF_ADDRESSES = ("max.connections.per.ip.overrides", "max.connections.per.ip")


def problems(file: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The name, and what is wrong with it."""
    values = Values((file,))
    for why in Together(values, values, file).connections():
        name = next((one for one in _OF_ADDRESSES if one in file), "")
        yield name, why.removeprefix("requirement failed: ")

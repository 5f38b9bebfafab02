"""What a broker reads of an answer that it relays: how long its client is to wait (KIP-219)."""

from __future__ import annotations

import pytest

from controller_runtime.parts.api_table import HELD_TO_MUTATION_RATE, served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.framing import encode_response
from controller_runtime.protocol.messages.create_partitions_response import CreatePartitionsResponse
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message
from controller_runtime.server.shell.throttling import time_to_wait

ANSWERS = {
    ApiKey.CREATE_TOPICS: CreateTopicsResponse(throttle_time_ms=1234),
    ApiKey.DELETE_TOPICS: DeleteTopicsResponse(throttle_time_ms=1234),
    ApiKey.CREATE_PARTITIONS: CreatePartitionsResponse(throttle_time_ms=1234),
}


def relayed(key: ApiKey, version: int, answer: Message) -> int:
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=7)
    return time_to_wait(encode_response(answer, header)[4:], header)


@pytest.mark.parametrize("key", HELD_TO_MUTATION_RATE, ids=lambda key: key.name)
def test_the_time_to_wait_is_read_of_every_version_that_is_served(key: ApiKey) -> None:
    for version in served(ListenerType.BROKER)[key]:
        assert relayed(key, version, ANSWERS[key]) == 1234, version

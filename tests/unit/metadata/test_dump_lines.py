"""Numbers as Java prints them: the quota of a log line is read by people and scripts that know kafka-dump-log."""

from __future__ import annotations

import json

import pytest

from controller_runtime.metadata.dump_lines import java_double, metadata_payload
from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord
from controller_runtime.protocol.record_batch import Record


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.5, "1.5"), (0.001, "0.001"), (0.00099, "9.9E-4"), (9999999.0, "9999999.0"),
        (1e7, "1.0E7"), (10485760.0, "1.048576E7"), (-1e300, "-1.0E300"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("nan"), "NaN"), (float("-inf"), "-Infinity"), (float("inf"), "Infinity"),
    ],
)  # fmt: skip
def test_a_double_is_printed_as_java_prints_it(value: float, text: str) -> None:
    assert java_double(value) == text


def test_a_quota_of_ten_megabytes_is_a_number_in_javas_form() -> None:
    record = ClientQuotaRecord(key='pro"ducer\0', value=10485760.0)
    line = metadata_payload(Record(0, 0, None, encode_record(record, 0)))
    assert line.endswith('"value":1.048576E7,"remove":false}}')
    assert json.loads(line.removeprefix("payload: "))["data"]["key"] == 'pro"ducer\0'

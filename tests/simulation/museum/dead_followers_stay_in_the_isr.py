"""A broker that is fenced leaves the ISR of what it leads, and stays in those of what it follows."""

from __future__ import annotations

import pytest

from controller_runtime.controller import brokers
from controller_runtime.controller.brokers import Found
from controller_runtime.metadata.image import MetadataImage

SOURCE = "KAFKA-948, KAFKA-3143"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    honest = brokers._in_isr

    def in_isr(image: MetadataImage, broker_id: int):  # type: ignore[no-untyped-def]
        found: list[Found | None] = list(honest(image, broker_id))
        return (each for each in found if each is None or each[2].leader == broker_id)

    patch.setattr(brokers, "_in_isr", in_isr)

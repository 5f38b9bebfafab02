"""CLU-13: a controller that finds its id registered by another process does not register again."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.controller_registration import ControllerRegistrar

SHOWN_BY = (
    "unit/node/test_controller_registration.py::"
    "test_it_registers_until_its_own_incarnation_is_known_and_again_when_another_takes_its_place"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = ControllerRegistrar._is_due

    def is_due(self: ControllerRegistrar, image: MetadataImage, now: Instant) -> bool:
        return self._identity.node_id not in image.cluster.controllers and right(self, image, now)

    patch.setattr(ControllerRegistrar, "_is_due", is_due)

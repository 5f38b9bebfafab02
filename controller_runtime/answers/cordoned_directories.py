"""Which log directories of a node take no new replicas (KIP-1066), by its dynamic configurations and its file."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.identifiers import DirectoryId
from controller_runtime.metadata.broker_config_relations import Values
from controller_runtime.metadata.broker_configs import OwnConfigs, in_force
from controller_runtime.metadata.config_values import items_of
from controller_runtime.metadata.configs import BROKER, ConfigsImage


def cordoned_directories(
    configs: ConfigsImage, own: OwnConfigs, named: Mapping[str, DirectoryId]
) -> tuple[DirectoryId, ...]:
    """`named`: all that are online, as `log.dirs` names them. As in Kafka, what is set for all nodes says nothing."""
    mine = in_force(configs.of(BROKER, str(own.node_id)), own, of_all=False)
    wanted = items_of(Values((mine, own.file)).text("cordoned.log.dirs"))
    return tuple(directory for name, directory in named.items() if name in wanted or "*" in wanted)

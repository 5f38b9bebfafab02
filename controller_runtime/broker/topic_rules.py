"""What topics' configurations say on this broker, computed once for each state of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.broker.append_rules import AppendRules
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, TOPIC, ConfigsImage
from controller_runtime.metadata.topic_configs import topic_configs
from controller_runtime.values import replace

_VERIFICATION: Final = "transaction.partition.verification.enable"


class TopicRules:
    def __init__(self, node_id: NodeId, node_configs: Mapping[str, str]) -> None:
        self._node_id = node_id
        self._node_configs = node_configs
        self._rules: dict[str, AppendRules] = {}
        self._effective: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        """Of topics, by what they set themselves."""
        self._seen: ConfigsImage | None = None
        """What both were computed of."""

    def of(self, configs: ConfigsImage, topic: str) -> AppendRules:
        """What they say about appends."""
        self._forget_old(configs)
        found = self._rules.get(topic)
        if found is None:
            found = AppendRules.of(self.configs(configs, topic))
            found = self._rules[topic] = replace(found, verifies_transactions=self._verifies(configs))
        return found

    def configs(self, configs: ConfigsImage, topic: str) -> Mapping[str, str]:
        """All of them, effective. Computed once for all topics that set the same."""
        self._forget_old(configs)
        own = tuple(sorted(configs.of(TOPIC, topic).items()))
        found = self._effective.get(own)
        if found is None:
            found = self._effective[own] = topic_configs(configs, topic, self._node_id, self._node_configs)
        return found

    def _verifies(self, configs: ConfigsImage) -> bool:
        """This node's own value, that of all nodes, or the file's."""
        places = (configs.of(BROKER, str(self._node_id)), configs.of(BROKER, ALL_BROKERS), self._node_configs)
        found = next((each[_VERIFICATION] for each in places if _VERIFICATION in each), "true")
        return found.strip().lower() != "false"

    def _forget_old(self, configs: ConfigsImage) -> None:
        if self._seen is not configs:
            self._rules, self._effective, self._seen = {}, {}, configs

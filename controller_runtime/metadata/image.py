"""The one model of the cluster: what the metadata log says, as an immutable value.

`MetadataImage` never changes; a `MetadataBuilder` made from it takes records (see `replay`) and `freeze()` gives the
next image, which shares everything that the records did not touch. So the active controller can keep one image per
uncommitted batch end and drop them when it loses leadership, and a broker can find what changed by comparing
identities. Partitions are packed (see `partitions`).

Records between BeginTransaction and EndTransaction are visible in the image that replays them, but `stable` still gives
the image from before the transaction, and AbortTransaction goes back to it: publish `stable`, decide on the image
itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.acls import AclsBuilder, AclsImage
from controller_runtime.metadata.cluster import BrokerRegistration, ClusterImage, ControllerRegistration
from controller_runtime.metadata.configs import ConfigsBuilder, ConfigsImage
from controller_runtime.metadata.features import METADATA_VERSION
from controller_runtime.metadata.security import DelegationToken, QuotaEntity, ScramCredential
from controller_runtime.metadata.topics import TopicsBuilder, TopicsImage
from controller_runtime.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class FeaturesImage:
    """Finalized levels by name, without kraft.version (it is a control record). Level 0 is absence."""

    levels: Mapping[str, int] = field(default_factory=dict)

    @property
    def metadata_version(self) -> int:
        """0 while the log has no metadata.version yet."""
        return self.levels.get(METADATA_VERSION, 0)

    def level(self, name: str) -> int:
        return self.levels.get(name, 0)


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A metadata transaction (KIP-868) that has begun and not ended, and the image from before it."""

    name: str | None
    before: MetadataImage


@dataclass(frozen=True, slots=True)
class MetadataImage:
    features: FeaturesImage = field(default_factory=FeaturesImage)
    cluster: ClusterImage = field(default_factory=ClusterImage)
    topics: TopicsImage = field(default_factory=TopicsImage)
    configs: ConfigsImage = field(default_factory=ConfigsImage)
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    next_producer_id: int = -1
    """The first id of the next block; -1 while none was allocated."""
    acls: AclsImage = field(default_factory=AclsImage)
    scram: Mapping[tuple[int, str], ScramCredential] = field(default_factory=dict)
    """By (mechanism, user name); mechanism 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512."""
    delegation_tokens: Mapping[str, DelegationToken] = field(default_factory=dict)
    transaction: OpenTransaction | None = None

    @classmethod
    def empty(cls) -> MetadataImage:
        return cls()

    @property
    def stable(self) -> MetadataImage:
        """This image, or the one from before the transaction that is open in it."""
        return self if self.transaction is None else self.transaction.before

    def builder(self) -> MetadataBuilder:
        return MetadataBuilder(self)


class MetadataBuilder:
    """The only thing through which an image changes. `replay.replay` is its only caller; what it means is written
    there.

    Small parts are copied when first written (`own_…`), topics and configs have builders of their own, made on first
    use.
    """

    __slots__ = (
        "_acls",
        "_base",
        "_brokers",
        "_configs",
        "_controllers",
        "_features",
        "_maps",
        "_peeked",
        "_topics",
        "next_producer_id",
        "transaction",
    )

    def __init__(self, base: MetadataImage) -> None:
        self._reset(base)

    def _reset(self, base: MetadataImage) -> None:
        self._base = base
        self._features: dict[str, int] | None = None
        self._brokers: dict[NodeId, BrokerRegistration] | None = None
        self._controllers: dict[NodeId, ControllerRegistration] | None = None
        self._topics: TopicsBuilder | None = None
        self._configs: ConfigsBuilder | None = None
        self._acls: AclsBuilder | None = None
        self._maps: _OwnedMaps | None = None
        self._peeked: MetadataImage | None = None
        self.next_producer_id = base.next_producer_id
        self.transaction = base.transaction

    @property
    def features(self) -> dict[str, int]:
        if self._features is None:
            self._features = dict(self._base.features.levels)
        return self._features

    @property
    def brokers(self) -> dict[NodeId, BrokerRegistration]:
        if self._brokers is None:
            self._brokers = dict(self._base.cluster.brokers)
        return self._brokers

    @property
    def controllers(self) -> dict[NodeId, ControllerRegistration]:
        if self._controllers is None:
            self._controllers = dict(self._base.cluster.controllers)
        return self._controllers

    @property
    def topics(self) -> TopicsBuilder:
        if self._topics is None:
            self._topics = TopicsBuilder(self._base.topics)
        return self._topics

    @property
    def configs(self) -> ConfigsBuilder:
        if self._configs is None:
            self._configs = ConfigsBuilder(self._base.configs)
        return self._configs

    @property
    def _own(self) -> _OwnedMaps:
        if self._maps is None:
            self._maps = _OwnedMaps()
        return self._maps

    @property
    def client_quotas(self) -> dict[QuotaEntity, Mapping[str, float]]:
        own = self._own
        if own.client_quotas is None:
            own.client_quotas = dict(self._base.client_quotas)
        return own.client_quotas

    @property
    def acls(self) -> AclsBuilder:
        if self._acls is None:
            self._acls = self._base.acls.builder()
        return self._acls

    @property
    def scram(self) -> dict[tuple[int, str], ScramCredential]:
        own = self._own
        if own.scram is None:
            own.scram = dict(self._base.scram)
        return own.scram

    @property
    def delegation_tokens(self) -> dict[str, DelegationToken]:
        own = self._own
        if own.delegation_tokens is None:
            own.delegation_tokens = dict(self._base.delegation_tokens)
        return own.delegation_tokens

    def begin_transaction(self, name: str | None) -> None:
        self.transaction = OpenTransaction(name, self.freeze())

    def end_transaction(self) -> None:
        self.transaction = None

    def abort_transaction(self) -> None:
        """Forget every record since `begin_transaction`, also those of earlier builders."""
        assert self.transaction is not None, "there is no transaction to abort"
        self._reset(self.transaction.before)

    def peek(self) -> MetadataImage:
        """What `freeze` would give, to decide on and let go: it may change with the next record. New topics and changes
        of values cost no copy.
        """
        if not self._only_views_changed():
            return self.freeze()
        base = self._base
        configs = base.configs if self._configs is None else self._configs.view()
        topics = base.topics if self._topics is None else self._topics.view()
        peeked = self._peeked
        if peeked is None or peeked.configs is not configs or peeked.topics is not topics:
            peeked = self._peeked = replace(base, configs=configs, topics=topics)
        return peeked

    def _only_views_changed(self) -> bool:
        """Nothing but what can be looked at while it changes."""
        base = self._base
        return (
            self._acls is None
            and self._maps is None
            and self._features is None
            and self._brokers is None
            and self._controllers is None
            and self.transaction is base.transaction
            and self.next_producer_id == base.next_producer_id
        )

    def freeze(self) -> MetadataImage:
        """The image with everything replayed so far. The builder may go on from there."""
        base, maps = self._base, self._own
        changed = MetadataImage(
            features=base.features if self._features is None else FeaturesImage(self._features),
            cluster=self._frozen_cluster(),
            topics=base.topics if self._topics is None else self._topics.freeze(),
            configs=base.configs if self._configs is None else self._configs.freeze(),
            client_quotas=base.client_quotas if maps.client_quotas is None else maps.client_quotas,
            next_producer_id=self.next_producer_id,
            acls=base.acls if self._acls is None else self._acls.freeze(),
            scram=base.scram if maps.scram is None else maps.scram,
            delegation_tokens=base.delegation_tokens if maps.delegation_tokens is None else maps.delegation_tokens,
            transaction=self.transaction,
        )
        self._reset(changed)
        return changed

    def _frozen_cluster(self) -> ClusterImage:
        cluster = self._base.cluster
        if self._brokers is None and self._controllers is None:
            return cluster
        brokers = cluster.brokers if self._brokers is None else dict(sorted(self._brokers.items()))
        controllers = cluster.controllers if self._controllers is None else dict(sorted(self._controllers.items()))
        return ClusterImage(brokers, controllers)


@dataclass(slots=True)
class _OwnedMaps:
    """Copies of the rarely changed maps, None while untouched."""

    client_quotas: dict[QuotaEntity, Mapping[str, float]] | None = None
    scram: dict[tuple[int, str], ScramCredential] | None = None
    delegation_tokens: dict[str, DelegationToken] | None = None

"""What an archive can be, and what keeps it from being written."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Standing(StrEnum):
    """One word for an archive; the first two are well."""

    STARTING = "Starting"
    FOLLOWING = "Following"
    AWAY = "Away"
    """The quorum is not reached, or knows no leader."""
    REFUSED = "Refused"
    """The quorum does not let its reader in, or what secures the connection is wrong."""
    ANOTHER_CLUSTER = "AnotherCluster"
    FORKED = "Forked"
    """The quorum's leader does not have what was committed and is kept here."""
    MALFORMED = "Malformed"
    """What the leader sends is no log."""
    DAMAGED = "Damaged"
    """Bytes that were kept are not those any more."""
    TRUNCATED = "Truncated"
    """Bytes that were kept are missing."""
    IN_USE = "InUse"
    DISK_FAILED = "DiskFailed"
    STORE_AWAY = "StoreAway"
    """Its own disk is empty, and the store that may have what was archived before cannot be asked."""


HOLDS: Final = frozenset((Standing.DAMAGED, Standing.TRUNCATED))
"""Nothing is written into such an archive before a person has looked; it is still read."""

OF_FAULTS: Final = {
    "away": Standing.AWAY,
    "refused": Standing.REFUSED,
    "another cluster": Standing.ANOTHER_CLUSTER,
    "history replaced": Standing.FORKED,
    "malformed": Standing.MALFORMED,
}
"""What a reading that ended early says of the archive."""

REMEDIES: Final = {
    Standing.AWAY: "look whether the quorum has a leader and lets the archive's pod in; it is tried again",
    Standing.REFUSED: "grant the archive's principal ClusterAction on the cluster, or mend its client properties",
    Standing.ANOTHER_CLUSTER: "name the quorum that this archive is of, or begin anew with another --begin",
    Standing.FORKED: "keep this archive: it has what the quorum lost. Begin anew with another --begin",
    Standing.MALFORMED: "look at the leader's disk with kraft-pipeline audit; it is tried again",
    Standing.DAMAGED: "look at the disk; begin anew with another --begin, which keeps these files aside",
    Standing.TRUNCATED: "put the missing files back, or begin anew with another --begin, which keeps these files aside",
    Standing.IN_USE: "end the other process that writes it",
    Standing.DISK_FAILED: "give the volume more space, or another disk; it is tried again",
    Standing.STORE_AWAY: "look at the store: an empty disk is filled from it before the quorum is followed",
}


class StoreStanding(StrEnum):
    """One word for an archive's copy in an object store; the first two are well."""

    STARTING = "Starting"
    SHIPPING = "Shipping"
    AWAY = "Away"
    REFUSED = "Refused"
    """The store does not let us in, or lacks what we need of it."""
    IN_USE = "InUse"
    """Another process has taken it over: this one puts nothing any more."""
    ANOTHER_CLUSTER = "AnotherCluster"
    FORKED = "Forked"
    """The store has other bytes at offsets that are here, too."""
    DAMAGED = "Damaged"
    """An object is missing, or is not what was put."""
    LOST = "Lost"
    """The store forgot what it had said to have."""
    UNNAMED = "Unnamed"
    """Objects of an archive are there, and nothing says what they are."""
    BAD_KEYS = "BadKeys"


STORE_REMEDIES: Final = {
    StoreStanding.AWAY: "look whether the store can be reached from the archive's pod; it is tried again",
    StoreStanding.REFUSED: "mend the store's address, region or credentials, and their rights; it is tried again",
    StoreStanding.IN_USE: "end one of the two that write there, or give this one another prefix, and restart it",
    StoreStanding.ANOTHER_CLUSTER: "give the archive another prefix: this one has another cluster's",
    StoreStanding.FORKED: "keep what the store has; begin anew with another --begin, which sets it aside there",
    StoreStanding.DAMAGED: "restore the object from the store's versions, or begin anew with another --begin",
    StoreStanding.LOST: "look at the store: it lost what it had acknowledged. It is put again",
    StoreStanding.UNNAMED: "restore archive.json from the store's versions, or give this one another prefix",
    StoreStanding.BAD_KEYS: "mend the directory of keys; every key that sealed what is kept has to stay there",
}


class StoreProblem(Exception):
    """The store cannot be written or read; `standing` says what it is instead."""

    def __init__(self, standing: StoreStanding, why: str) -> None:
        super().__init__(why)
        self.standing = standing
        self.why = why


class ArchiveError(Exception):
    """The archive cannot be written, or is not what it was; `standing` says what it is instead."""

    def __init__(self, standing: Standing, why: str) -> None:
        super().__init__(why)
        self.standing = standing
        self.why = why

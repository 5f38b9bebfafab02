"""What can be wrong with a file, a batch or a record: one word each, for columns and for people.

A fault is a row, not an exception: the rest of the file and of the fleet is read. `ListingError` is for a question that
makes no sense at all (no such path), raised before anything is read.
"""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """The value of the column `fault`."""

    CRC = "crc"
    """The bytes of the batch are not those its checksum was made of. Its records are not decoded."""
    OFFSET = "offset"
    """The base offset is not where the previous batch of the file ended; the checksum does not cover it."""
    LENGTH = "length"
    """A batch's length is impossible; the rest of the file cannot be found and is one row."""
    MAGIC = "magic"
    """A batch of another format than 2. It is stepped over."""
    TORN = "torn"
    """The file ends inside a batch: a crash or a copy in the middle of a write."""
    ZEROS = "zeros"
    """The rest of the file is zeros: space allocated in advance, or a page the disk never wrote."""
    HEADER = "header"
    """Offset delta, record count or codec in the header are impossible."""
    COMPRESSION = "compression"
    """The checksum holds, but the codec cannot read the bytes."""
    RECORDS = "records"
    """The checksum holds, but the bytes are not so many records."""
    UNKNOWN = "unknown"
    """A record type or version that Apache Kafka 4.3 does not have."""
    MALFORMED = "malformed"
    """A known record type whose bytes do not fit its layout."""
    CONTROL = "control"
    """A control record that cannot be understood."""
    EMPTY = "empty"
    """A file without a byte: a fresh segment."""
    UNREADABLE = "unreadable"
    """The file system refused the file or a part of it."""
    SHRUNK = "shrunk"
    """The file became shorter than it was when it was listed, or than a stream had read of it."""
    AWAY = "away"
    """A living quorum was not reached, or knows no leader."""
    REFUSED = "refused"
    """A living quorum does not let its reader in."""
    ANOTHER_CLUSTER = "another cluster"
    """A living quorum is not the cluster that it was, or is said to be."""
    REPLACED = "history replaced"
    """A quorum's leader does not have what was committed."""
    TRIMMED = "trimmed"
    """A stream had planned to read what its quorum then threw away: its log begins with a newer snapshot."""
    IDENTITY = "identity"
    """meta.properties is missing or cannot be read: the file belongs to nobody known."""


class SourceError(Exception):
    """Base of what this package raises."""


class ListingError(SourceError):
    """The path does not exist, or nothing below it is a metadata log; the message names it."""


class InvalidOption(SourceError):
    """An option that cannot be understood; the message names the option and what is allowed."""

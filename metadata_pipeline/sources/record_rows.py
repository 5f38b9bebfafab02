"""Rows of the table `records`: records grouped by type and version, each group decoded as columns, the rest one by one.

Rows come out in the order of the file. A batch whose records cannot be read is one row that says so, in its place.
Blocks are bounded in rows, so memory does not depend on how many records a chunk unpacks to.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from controller_runtime.metadata.records import FRAME_VERSION, RECORD_NAMES
from controller_runtime.protocol.record_batch import CONTROL_BIT
from metadata_pipeline.redaction import is_secret_config
from metadata_pipeline.schemas import columns_of
from metadata_pipeline.sources.arrays import Ints
from metadata_pipeline.sources.batch_rows import Maker, assemble, where
from metadata_pipeline.sources.columns import blobs, held, listed, numbers, timestamps, words
from metadata_pipeline.sources.describe import Described, describe
from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.layouts import Part, Program, Values, program
from metadata_pipeline.sources.lockstep import Bools
from metadata_pipeline.sources.options import TYPE_NAMES, ReadOptions, bounds
from metadata_pipeline.sources.payload import Payload, payloads
from metadata_pipeline.sources.piece import Batches
from metadata_pipeline.sources.shapes import WORTH, shaped
from metadata_pipeline.sources.store import Store

BLOCK_ROWS: Final = 1 << 17
_CONFIG_KEY: Final = 4
_TOLD_BY_DECODING: Final = frozenset(("extra", "raw", "redacted", "fault", "detail"))
_SLOW: Final = -1
_NOTHING: Final = listed([b""], pa.binary())[0]
_TEXTS: Final[dict[tuple[str, int, bytes], bytes]] = {}
_MOST_TEXTS: Final = 4096
"""JSON that was made before: a broker that registers again says nearly the same."""
_NAMES: Final[list[str | None]] = [None, *sorted(TYPE_NAMES)]
_CODES: Final = {name: code for code, name in enumerate(_NAMES)}
_KEYS: Final = {name: key for key, name in RECORD_NAMES.items()}
_FAULTS: Final[list[str | None]] = [None, *(str(fault) for fault in Fault)]
_FAULT_CODES: Final = {fault: code for code, fault in enumerate(Fault, start=1)}


def record_tables(batches: Batches, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The records of these batches, and a row for each batch whose records cannot be had."""
    for payload in payloads(batches):
        chosen = _chosen(payload, options)
        lost = _lost(payload)
        if len(lost):
            rows = np.concatenate((chosen, -1 - lost))
            places = np.concatenate((payload.batch[chosen], lost))
            chosen = rows[np.argsort(places, kind="stable")]
        for first in range(0, len(chosen), BLOCK_ROWS):
            block = _Block(payload, chosen[first : first + BLOCK_ROWS], options)
            yield block.table()


def _lost(payload: Payload) -> Ints:
    faults = payload.batches.faults
    if payload.batches.sound:
        return np.zeros(0, np.int64)
    return np.array(
        [i for i, fault in enumerate(faults) if fault is not None and fault[0] is not Fault.OFFSET], np.int64
    )


def _chosen(payload: Payload, options: ReadOptions) -> Ints:
    """The records that were asked for, as far as offset, time and the first bytes tell."""
    keep: Any = None
    lowest, below = bounds(options, log=payload.batches.is_log)
    if lowest is not None:
        keep = payload.offset >= lowest
    if below is not None:
        keep = _and(keep, payload.offset < below)
    if options.from_time_ms is not None:
        keep = _and(keep, payload.timestamp >= options.from_time_ms)
    if options.types is not None:
        wanted = np.zeros(128 + 1, np.bool_)
        wanted[[_KEYS[name] for name in options.types if name in _KEYS]] = True
        wanted[_SLOW] = True  # decided when it is decoded
        keys, _ = _kinds(payload, slice(None))
        known = np.isin(keys, [_SLOW, *RECORD_NAMES])
        keep = _and(keep, wanted[keys] | ~known)
    return np.arange(len(payload.offset)) if keep is None else np.flatnonzero(keep)


def _and(keep: Any, more: Bools) -> Bools:
    return more if keep is None else keep & more


def _kinds(payload: Payload, rows: Any) -> tuple[Ints, Ints]:
    """Record key and version of metadata records in the usual frame; -1 for all others."""
    head = payload.head[rows]
    usual = ((head & 0x8080FF) == FRAME_VERSION) & (payload.value_size[rows] >= 3)
    control = (payload.batches.headers["attributes"] & CONTROL_BIT) != 0
    if control.any():
        usual &= ~control[payload.batch[rows]]
    key, version = (head >> 8) & 0xFF, (head >> 16) & 0xFF
    return (key, version) if usual.all() else (np.where(usual, key, _SLOW), np.where(usual, version, _SLOW))


class _Block:
    """Some rows on their way into columns. A row that is negative is the batch -1 - row, which was lost."""

    def __init__(self, payload: Payload, rows: Ints, options: ReadOptions) -> None:
        self.payload, self.options = payload, options
        self.wanted = frozenset(column.name for column in columns_of("records", options.columns))
        self.rows = rows
        self.is_lost = rows < 0
        self.some_lost = bool(self.is_lost.any())
        self.present = None if not self.some_lost else ~self.is_lost
        beside = not self.some_lost and len(rows) == int(rows[-1] - rows[0]) + 1
        self.some: Any = slice(int(rows[0]), int(rows[-1]) + 1) if beside else rows
        """The records, as a view where they lie side by side."""
        self.batch = self._of_records(payload.batch, -1 - rows)
        self.value_start = self._of_records(payload.value_start, np.zeros(len(rows), np.int64))
        self.value_size = self._of_records(payload.value_size, np.zeros(len(rows), np.int64))
        self.store = Store(payload.data, len(rows), self.wanted)
        self.types = np.zeros(len(rows), np.int8)
        self.ids = np.zeros(len(rows), np.int32)
        self.versions = np.zeros(len(rows), np.int32)
        self.numbered = np.ones(len(rows), np.bool_)
        self.versioned = np.ones(len(rows), np.bool_)
        self.fault_codes: Any = None
        self.redacted = np.zeros(len(rows), np.bool_)
        self.unwanted: list[int] = []

    def _of_records(self, values: Ints, otherwise: Any) -> Any:
        """A column over records as a column over rows; lost batches have the other value."""
        if self.present is None:
            return values[self.some]
        otherwise[self.present] = values[self.rows[self.present]]
        return otherwise

    def table(self) -> pa.RecordBatch:
        self._decode()
        self._faults()
        made = self._table()
        if self.unwanted:
            keep = np.ones(len(self.rows), np.bool_)
            keep[self.unwanted] = False
            made = made.filter(numbers(keep, pa.bool_()))
        return made

    def _decode(self) -> None:
        records = np.flatnonzero(self.present) if self.present is not None else np.arange(len(self.rows))
        keys, versions = _kinds(self.payload, self.rows[records] if self.some_lost else self.some)
        codes = np.maximum(keys * 128 + versions + 1, 0).astype(np.uint16)  # small, for each kind is compared with all
        slow: list[Ints] = []
        for code in np.flatnonzero(np.bincount(codes, minlength=1)).tolist():
            group = np.flatnonzero(codes == code)
            group = records[group] if self.some_lost else group
            decoder = program((code - 1) // 128, (code - 1) % 128) if code else None
            if decoder is None:
                slow.append(group)
                continue
            slow.append(self._group(decoder, (code - 1) // 128, group))
        if self.some_lost:
            self.numbered[self.is_lost] = self.versioned[self.is_lost] = False
        for row in np.concatenate(slow).tolist() if slow else ():
            self._single(row)

    def _group(self, decoder: Program, key: int, group: Ints) -> Ints:
        """Decode records of one type and version as columns; returns those that have to be looked at one by one."""
        payload = self.payload
        if not self.wanted & (decoder.columns | _TOLD_BY_DECODING):
            self._label(group, decoder, key)
            return group[:0]
        if decoder.all_named and key != _CONFIG_KEY and len(group) >= WORTH:
            group = self._shaped(decoder, key, group)
            if not len(group):
                return group
        start, size = self.value_start[group], self.value_size[group]
        needed = (
            self.wanted | {"resource_type", "resource_name", "name", "value"} if key == _CONFIG_KEY else self.wanted
        )
        parts, aside, bad = decoder.run(payload.data, start + 3, start + size, needed)
        if aside and "extra" in self.wanted:
            parts.append(self._told(decoder, self.rows[group], aside, bad))
        clean = not bad.any()
        for part in parts:
            if part.column in self.wanted:
                self._put(group, part, None if clean else bad)
        good = group if clean else group[~bad]
        self._label(good, decoder, key)
        if key == _CONFIG_KEY and not self.options.redactor.include_secrets:
            self._hide(group, {part.column: part.values for part in parts}, bad)
        left: Ints = group[bad]
        return left

    def _shaped(self, decoder: Program, key: int, group: Ints) -> Ints:
        """Decode the records of common shapes; returns the others."""
        left = np.ones(len(group), np.bool_)
        start, size = self.value_start[group], self.value_size[group]
        for taken, parts in shaped(decoder, self.payload.data, start, size, self.wanted):
            rows = group[taken]
            left[taken] = False
            for part in parts:
                self.store.put(part.column, rows, part.values)
        self._label(group, decoder, key)
        return group[left]

    def _told(self, decoder: Program, records: Ints, aside: list[Values], bad: Bools) -> Part:
        """What has no column as JSON, made once for each different stretch of bytes. What cannot be told
        becomes bad.
        """
        for each in aside:
            each.size = np.where(bad, 0, each.size)
        stretches = [blobs(self.payload.data, each.data, each.size) for each in aside]
        joined = stretches[0] if len(stretches) == 1 else pc.binary_join_element_wise(*stretches, _NOTHING)
        coded = joined.dictionary_encode()
        which = held(coded.indices)
        first = np.full(len(coded.dictionary), -1, np.int64)
        rows = np.flatnonzero(~bad)[::-1]
        first[which[rows]] = records[rows]
        places, sizes = np.zeros(len(first), np.int64), np.full(len(first), -1, np.int64)
        for code, (record, stretch) in enumerate(zip(first.tolist(), coded.dictionary.to_pylist(), strict=True)):
            if record >= 0 and (text := self._text(decoder, record, stretch)) is not None:
                places[code], sizes[code] = self.store.aside(text), len(text)
        bad |= sizes[which] < 0
        return Part("extra", None, Values(places[which], sizes[which]))

    def _text(self, decoder: Program, record: int, stretch: bytes) -> bytes | None:
        """The JSON of one record's fields without a column; None when the slow way has to say what is wrong."""
        place = decoder.name, decoder.version, stretch
        known = _TEXTS.get(place)
        if known is None:
            found = self._described(record, control=False)
            if found.fault is not None or found.extra is None:
                return None
            if len(_TEXTS) >= _MOST_TEXTS:
                _TEXTS.clear()
            known = _TEXTS[place] = found.extra.encode()
        return known

    def _described(self, record: int, *, control: bool) -> Described:
        payload = self.payload
        key = _slice(payload.raw, int(payload.key_start[record]), int(payload.key_size[record]))
        value = _slice(payload.raw, int(payload.value_start[record]), int(payload.value_size[record]))
        return describe(key, value, control=control, redactor=self.options.redactor)

    def _label(self, rows: Ints, decoder: Program, key: int) -> None:
        self.types[rows] = _CODES[decoder.name]
        self.ids[rows] = key
        self.versions[rows] = decoder.version

    def _put(self, group: Ints, part: Part, bad: Any) -> None:
        """Values into rows, but not into the rows of records that were bad elsewhere."""
        if bad is None:
            self.store.put(part.column, group if part.rows is None else group[part.rows], part.values)
            return
        of = np.arange(len(group)) if part.rows is None else part.rows
        chosen = np.flatnonzero(~bad[of])
        self.store.put(part.column, group[of[chosen]], part.values, chosen)

    def _hide(self, rows: Ints, columns: dict[str, Values], bad: Bools) -> None:
        """Replace the values of secret configurations."""
        raw, name, value = self.payload.raw, columns["name"], columns["value"]
        some = np.flatnonzero(~bad if value.valid is None else ~bad & value.valid)
        coded = blobs(self.payload.data, name.data[some], name.size[some]).dictionary_encode()
        kinds = columns["resource_type"].data[some].astype(np.int64)
        pairs, which = np.unique(held(coded.indices).astype(np.int64) * 256 + (kinds & 255), return_inverse=True)
        names = [each.decode() for each in coded.dictionary.to_pylist()]
        secret = [is_secret_config((pair + 128) % 256 - 128, names[pair // 256]) for pair in pairs.tolist()]
        for index in some[np.array(secret, np.bool_)[which]].tolist():
            row, at = int(rows[index]), int(value.data[index])
            self.store.set("value", row, self.options.redactor.fingerprint(raw[at : at + int(value.size[index])]))
            self.redacted[row] = True

    def _single(self, row: int) -> None:
        control = bool(self.payload.batches.headers[int(self.batch[row])]["attributes"] & CONTROL_BIT)
        found = self._described(int(self.rows[row]), control=control)
        if self.options.types is not None and found.fault is None and found.type not in self.options.types:
            self.unwanted.append(row)
            return
        self._fill(row, found)

    def _fill(self, row: int, found: Described) -> None:
        self.types[row] = _CODES[found.type]
        if found.type_id is None:
            self.numbered[row] = False
        else:
            self.ids[row] = found.type_id
        if found.version is None:
            self.versioned[row] = False
        else:
            self.versions[row] = found.version
        self.store.set("extra", row, found.extra)
        for name, value in found.values.items():
            self.store.set(name, row, value)
        if found.raw is not None:
            self.store.set("raw", row, found.raw)
        self.redacted[row] = found.redacted
        if found.fault is not None:
            self._fault(row, found.fault, found.detail or "")

    def _fault(self, row: int, fault: Fault, detail: str) -> None:
        if self.fault_codes is None:
            self.fault_codes = np.zeros(len(self.rows), np.int8)
        self.fault_codes[row] = _FAULT_CODES[fault]
        self.store.set("detail", row, detail)

    def _faults(self) -> None:
        """What is wrong with whole batches, on every row of theirs that has no fault of its own."""
        faults = self.payload.batches.faults
        if self.payload.batches.sound:
            return
        marked = [index for index, fault in enumerate(faults) if fault is not None]
        for index in marked:
            fault = faults[index]
            assert fault is not None, "only those with a fault"
            for row in np.flatnonzero(self.batch == index).tolist():
                if self.fault_codes is None or not self.fault_codes[row]:
                    self._fault(row, *fault)

    def _table(self) -> pa.RecordBatch:
        payload, count, batches = self.payload, len(self.rows), self.payload.batches
        headers = batches.headers
        base = headers["base_offset"].astype(np.int64)
        offset = self._of_records(payload.offset, base[self.batch] if self.some_lost else None)
        stamp = self._of_records(payload.timestamp, np.zeros(count, np.int64) if self.some_lost else None)
        present = self.present
        control = (headers["attributes"] & CONTROL_BIT) != 0
        numbered = None if self.numbered.all() else self.numbered
        versioned = None if self.versioned.all() else self.versioned
        decoded = self.store.arrays()
        makers: dict[str, Maker] = where(batches.segments, batches.owner[self.batch], count) | {
            "position": lambda: numbers(batches.places[self.batch], pa.int64()),
            "batch_offset": lambda: numbers(base[self.batch], pa.int64()),
            "offset": lambda: numbers(offset, pa.int64()),
            "epoch": lambda: numbers(headers["epoch"].astype(np.int32)[self.batch], pa.int32(), present),
            "timestamp": lambda: timestamps(stamp, present),
            "timestamp_ms": lambda: numbers(stamp, pa.int64(), present),
            "is_control": lambda: numbers(control[self.batch], pa.bool_(), present),
            "type": lambda: words(self.types, _NAMES),
            "type_id": lambda: numbers(self.ids, pa.int32(), numbered),
            "version": lambda: numbers(self.versions, pa.int32(), versioned),
            "redacted": lambda: numbers(self.redacted, pa.bool_(), present),
            "fault": lambda: (
                words(self.fault_codes, _FAULTS) if self.fault_codes is not None else pa.nulls(count, pa.string())
            ),
        }
        makers |= {name: partial(_same, array) for name, array in decoded.items()}
        return assemble("records", self.options, count, makers)


def _same(array: pa.Array) -> pa.Array:
    return array


def _slice(raw: bytes, start: int, size: int) -> bytes | None:
    return None if size < 0 else raw[start : start + size]

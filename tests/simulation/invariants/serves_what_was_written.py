"""SNP-17: no node passes on what its disk has made of the log since it was written: each batch in an answer to Fetch
has the checksum of its bytes.
"""

from __future__ import annotations

from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.record_batch import batch_headers, verify_crc
from controller_runtime.protocol.schema import Message
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class ServesWhatWasWritten:
    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None:
        if not isinstance(answer, FetchResponse) or not answer.responses or not machine.disk.is_rotten:
            return
        records = answer.responses[0].partitions[0].records
        if not records:
            return
        try:
            for header in batch_headers(records):
                verify_crc(records, header)
        except ProtocolError as error:
            raise Violation(f"n{machine.id} serves what its disk has changed: {error}") from None

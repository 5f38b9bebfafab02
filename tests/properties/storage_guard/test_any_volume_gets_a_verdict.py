"""Whatever bytes lie on a volume, in the ledger and on the pod: a verdict with a reason, no exception, and nothing is
changed by looking.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage_guard.formats import MAX_JSON_SIZE_BYTES, DiskVerdict, Report
from storage_guard.passage import Hold
from support.disks.memory_disk import Node
from support.disks.raw_batches import raw_batch
from support.operator_model.guarded_world import LOG, ROOT, World

pytestmark = pytest.mark.properties

LONG = b"node.id=0\nversion=1\ncluster.id=" + b"c" * 5000
HUGE = b"node.id=" + b"9" * 4000 + b"\nversion=1\ncluster.id=c\n"
META = b"#\nnode.id=0\ndirectory.id=AAAAAAAAAAkAAAAAAAAD8Q\nversion=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n"
MARKER = (
    b'{"version":1,"state":"Sealed","clusterID":"4L6g3nShT-eMCtK--X86sw","nodeID":0,"nonce":"n","podUID":"pod-1",'
    b'"directoryID":"AAAAAAAAAAkAAAAAAAAD8Q"}'
)
IDENTITY = (
    b'{"version":1,"clusterID":"4L6g3nShT-eMCtK--X86sw","nodeID":0,"directoryID":"AAAAAAAAAAkAAAAAAAAD8Q","nonce":"n"}'
)


def flawed(right: bytes) -> st.SearchStrategy[bytes]:
    """Right, cut off, with a byte changed, or anything."""

    def changed(at: int, value: int) -> bytes:
        return right[:at] + bytes([value]) + right[at + 1 :]

    index = st.integers(0, len(right) - 1)
    return st.one_of(
        st.just(right), index.map(lambda end: right[:end]), st.builds(changed, index, st.integers(0, 255)), st.binary()
    )


FILES = {
    f"{LOG}/meta.properties": flawed(META) | st.sampled_from([LONG, HUGE]),
    f"{ROOT}/storage-identity.json": flawed(MARKER),
    f"{LOG}/__cluster_metadata-0/00000000000000000000.log": flawed(raw_batch(0) + raw_batch(1)),
    f"{LOG}/__cluster_metadata-0/00000000000000000155-0000000001.checkpoint": st.binary(max_size=10),
    f"{LOG}/__cluster_metadata-0/99999999999999999999.log": st.binary(max_size=80),
    f"{ROOT}/lost+found": st.just(b""),
    f"{ROOT}/kafka-log0": st.just(b""),
}


@settings(max_examples=100, deadline=None)
@given(
    st.fixed_dictionaries({}, optional=FILES),
    st.one_of(st.none(), flawed(IDENTITY)),
    st.one_of(st.none(), flawed(b"{}")),
)
def test_any_volume_gets_a_verdict(files: dict[str, bytes], ledger: bytes | None, grant: bytes | None) -> None:
    world = World(nodes=1)
    memory, kubelet = world.disks[0].memory, world.pods[0].kubelet
    kubelet.directories |= {"/pod", "/run", "/config", "/ledger"}
    for path, data in files.items():
        memory.directories |= {LOG, f"{LOG}/__cluster_metadata-0"}
        memory.names[path] = Node(bytearray(data), data)
    for path, given_bytes in (("/ledger/identity.json", ledger), ("/pod/grant", grant)):
        if given_bytes is not None:
            kubelet.names[path] = Node(bytearray(given_bytes), given_bytes)
    before = {path: bytes(node.data) for path, node in memory.names.items()}
    report = world.guard(0).inspect()
    assert Report.from_json(report.to_json()).to_json() == report.to_json()
    assert len(report.to_json().encode()) <= MAX_JSON_SIZE_BYTES
    assert report.message
    if report.verdict is DiskVerdict.FORMATTED:
        assert (report.cluster_id, report.disk_node_id) == ("4L6g3nShT-eMCtK--X86sw", 0)
    outcome = world.guard(0).look_through_gate()
    if isinstance(outcome, Hold):
        assert outcome.message
    else:  # only a whole directory that the ledger names
        assert outcome.directory_id == "AAAAAAAAAAkAAAAAAAAD8Q"
        assert ledger is not None
    assert {path: bytes(node.data) for path, node in memory.names.items()} == before

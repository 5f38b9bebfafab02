"""An archive of a quorum's metadata log: a follower that keeps log and snapshots as Apache Kafka's own files, byte for
byte, in a directory of its own.

Only what a leader said is committed is kept, so nothing in it is ever taken back. `examining` reads the directory whole
and says what it proves, `opening` makes it fit to be written, `keeping` writes, `retention` decides what may go,
`following` is the loop, `telling` what it says of itself. It needs neither Spark nor pyarrow.

A copy in an object store: `manifest` is what it holds, as a value, `objects` speaks to the store, `sealing` encrypts,
`shipping` puts there what is synced here, `fetching` makes a directory of it again.
"""

"""The share coordinator (KIP-932): what groups that share partitions have done with records, kept for the leaders of
those partitions over `__share_group_state`.

settings     what the configuration says, with Kafka's names and defaults
ports        what is needed of the broker: the topic's partitions and the image
values       the state of one partition for one group, and how an update changes it
combining    state batches that overlap made into ones that do not
records      ShareSnapshot and ShareUpdate: bytes to values and back
partition    one partition of the topic: its states, and who waits for the log
coordinator  which partition a key belongs to, and whether it is served here
decisions    the five requests for one key: checks in Kafka's order, the record, the answer
requests     the five requests whole, whose parts several partitions answer
loading      states from the bytes of a log
upkeep       states of deleted topics, snapshots of what nobody changes, records that no state needs
"""

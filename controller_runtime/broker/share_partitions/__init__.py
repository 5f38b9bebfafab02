"""Partitions that groups share, on the broker that leads them: what `coordinator.share_partitions` decides is done.

persister        states kept by their share coordinator, wherever it is, and read from it
led              the share partitions that are led here: begun when somebody wants them, dropped with their leadership
fetches          records for members: read, acquired, answered, or waited for
acknowledgements what members say of records, until it is kept
judged           requests of both kinds, before anything is done: members, sessions, topics
answers          how both are answered
service          the two requests, and what happens around them
"""

"""kopf's decorators and nothing else: every event ends in `queue.add(key)`.

Only `on.event` (and start-up, login, clean-up): `on.create`, `on.update`, timers and daemons write annotations and
finalizers, and decide from differences instead of from what is. A test forbids them.
"""

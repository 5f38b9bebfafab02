"""The share coordinator on a broker: where a partition of `__share_group_state` is led, and who asks for it."""

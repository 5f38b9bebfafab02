"""Kafka's admin protocol from the client's side, asynchronous, over brokers or controllers (KIP-919). Start at
`admin.client`.
"""

"""Bytes to messages and back: everything Apache Kafka 4.3.1 says on the wire and in its logs. Importing this package
loads no message.

schema          what a message is: fields with versions, nullability, tags and defaults as data
messages        one module per message; `message_class("FetchRequest")` imports on first use
codec           `encode(message, version)`, `decode(cls, data, version)`, compiled per message and version on first use
framing         frames, headers, requests and responses
api_keys        Kafka's table of APIs
record_batch    batches of records with checksums; `control_records` and `compression` beside it
errors          what is wrong with bytes, and Kafka's error codes; `api_errors` has an exception for each code
json_form       messages as Kafka's JSON
"""

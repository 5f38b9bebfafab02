"""Key stores and trust stores: bytes into keys and certificates."""

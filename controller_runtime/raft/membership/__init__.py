"""How the set of voters changes (KIP-853)."""

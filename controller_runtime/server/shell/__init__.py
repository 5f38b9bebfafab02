"""The process: it assembles a node, performs its effects, and shuts it down."""

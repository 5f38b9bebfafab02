"""What lives as long as a node is the active controller."""

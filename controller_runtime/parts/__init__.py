"""What the parts of a node speak in."""

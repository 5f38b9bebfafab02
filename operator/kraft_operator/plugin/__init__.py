"""`kubectl kraft`: a cluster on one screen, and the few things one asks of it by hand."""

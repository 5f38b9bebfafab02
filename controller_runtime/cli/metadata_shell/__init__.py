"""`kafka-metadata-shell`: the image of a cluster as a tree of directories, to walk and to read."""

from controller_runtime.cli.metadata_shell.shell import main

__all__ = ["main"]

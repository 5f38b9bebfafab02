"""The replica of the metadata log and its wire."""

"""Images to give away: for several architectures, of what is pinned by version and hash, the same bytes whoever builds
them; a list of materials beside each, and a signature over all.

`deploy/images` builds quickly for the machine it runs on. Here nothing comes from that machine but Python, which
compiles: another architecture's packages are unpacked, never run.
"""

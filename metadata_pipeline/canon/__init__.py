"""The canonical log of a cluster: which records are committed, proven by what its copies hold, and which copy each
offset is read from.

`model` are the values, `proof` the rule, `choice` who provides which offsets, `provisional` what is not proven and what
became of it. All pure.
"""

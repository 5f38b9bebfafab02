"""What a cluster consists of in Kubernetes: pure functions from a resource to plain manifests. `cluster` is
the way in.
"""

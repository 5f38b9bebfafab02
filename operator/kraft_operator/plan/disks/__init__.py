"""Which disk is whose: the cluster's identity, claims, volumes, and who may format one."""

"""What secures a cluster: which certificates it needs (`identities`) and which are due (`due`), decided from values;
how they are made and read (`certificates`, `secret_objects`); how the operator itself gets in (`access`).
"""

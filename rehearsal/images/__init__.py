"""Simulated processes of known images, and their effects on the cluster and the account."""

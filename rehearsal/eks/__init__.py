"""EKS: its API in the account, and what EKS itself keeps in a cluster: node groups, add-ons, control planes."""

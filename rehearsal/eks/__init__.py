"""EKS: its API in the account, and what EKS manages: node groups, add-ons, control planes."""

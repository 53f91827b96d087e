"""EKS as its API describes it; what runs behind a cluster or node group is in lifecycle."""

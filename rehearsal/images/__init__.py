"""What the processes in known images do to the cluster and the account."""

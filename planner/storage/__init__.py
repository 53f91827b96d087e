"""What shared and local storage must deliver, and what it can: checkpoints, Lustre, Ceph, FSx, NVMe."""

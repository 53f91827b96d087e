"""What watching the cluster takes: series, samples, disk, memory, and room on the system pool."""

"""Apply a Pulumi program on one machine, offline, with the real engine and a real Kubernetes."""

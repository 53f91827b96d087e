"""What machines have, and what makes it schedulable: GPUs, their slices, EFA, and the daemons that tell Kubernetes."""

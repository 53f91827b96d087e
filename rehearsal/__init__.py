"""Apply any stack of this repository on one machine, offline, with the real engine and a real Kubernetes."""

"""Racked servers on one machine: network namespaces with a real sshd, own files, and tools that keep a state."""

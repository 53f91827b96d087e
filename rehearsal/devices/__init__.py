"""Devices of machines, and what makes them schedulable: GPUs, MIG slices, EFA, and their device plugins."""

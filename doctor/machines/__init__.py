"""Machines of an inventory, compared with the plan; they are read over SSH, and nothing is changed."""

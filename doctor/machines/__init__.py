"""Machines of an inventory, beside what the plan says of them; they are read over SSH, and nothing is changed."""

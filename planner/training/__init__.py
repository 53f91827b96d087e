"""What training a model takes of GPUs: layout and memory. Pure functions of plain values and rows."""

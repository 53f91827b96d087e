"""What serving a model takes of GPUs: memory, KV cache, start. Pure functions of plain values and catalogue rows."""

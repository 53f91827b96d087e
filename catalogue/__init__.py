"""Facts about GPUs, instances, models and versions, each with its source. Imports nothing else of this program."""

"""A stack as Slurm's own files: configuration, accounts, checks and batch scripts, all of them from the plan."""

"""What is watched: counters, recorded names, failures with their thresholds and pages. Facts, free of pulumi."""

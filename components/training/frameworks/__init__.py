"""One module for each way to tell a training program what was planned."""

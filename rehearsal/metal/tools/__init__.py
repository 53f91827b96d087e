"""Tools of a host, one module for those that share a state. They run on the host, with nothing but this directory."""

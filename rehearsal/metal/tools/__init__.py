"""Simulated tools of a host, one module for those that share state. They run on the host, with nothing but this
directory.
"""

"""On-premises servers on one machine: network namespaces with a real sshd, their own files, and simulated tools
with state.
"""

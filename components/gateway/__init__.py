"""The way in for callers from outside of the cluster: one gateway, certificates, a route for each public service,
and for people a question before each page.
"""

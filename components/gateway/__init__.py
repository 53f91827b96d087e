"""Access from outside the cluster: one gateway, certificates, a route for each public service, and single sign-on
for each page.
"""

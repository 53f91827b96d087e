"""The AWS account of a rehearsal: one moto server on loopback, made as strict and as complete as the parts we use.

Moto answers the API calls. This package adds what moto lacks (most of EKS, FSx for Lustre, placement groups, launch
templates applied to instances), makes it refuse what AWS refuses (deleting things in use, unknown roles and subnets),
and gives rehearsals their own routes under ``/rehearsal/``: cluster life cycle, faults, inventory and request counts.
"""

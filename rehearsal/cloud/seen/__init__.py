"""The account as its clients see it: machines, security groups, routes and rights, read through the AWS API."""

"""The account as its clients see it: machines, security groups, routes and permissions, read through the AWS API."""

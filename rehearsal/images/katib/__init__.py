"""Katib 0.19, simulated: its controller with webhooks, algorithms, early stopping, metrics collector and database.

Its programs do not build from Go modules. What they do is here as their sources say it, each rule with its place in
kubeflow/katib at v0.19.0. Who speaks with whom is real: webhooks over TLS, Services and their endpoints, the rights of
each pod's own account. What is said is JSON over HTTP where Katib has gRPC, and how well an algorithm chooses is not
played: values are spread evenly over their ranges.
"""

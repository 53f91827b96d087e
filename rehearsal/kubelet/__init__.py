"""The kubelets of a rehearsed cluster: pods are admitted, mounted, started, probed and terminated, as by real
kubelets.
"""

"""The kubelets of a rehearsed cluster: pods are admitted, mounted, started, probed and ended, as in life."""

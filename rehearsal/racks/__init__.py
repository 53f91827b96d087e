"""A cluster of racked hosts: what their kubeadm begins, their kubelets, and the hall that a site has them in."""

"""A cluster of on-premises hosts: what kubeadm starts, their kubelets, and the hall that holds them."""

"""Deploys a stack to a real account, cheapest part first, within a budget, and destroys it again (`make smoke`)."""

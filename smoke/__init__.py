"""A stack on a real account, cheapest part first, within a budget, and torn down again (`make smoke`)."""

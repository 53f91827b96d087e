"""What stacks past their last day have left in an account: found, priced, and removed on confirmation."""

"""What expired stacks left in an account: found, priced, and deleted on confirmation."""

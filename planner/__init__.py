"""What a stack will be, in numbers, and what is wrong with it: pure functions of settings and catalogue."""

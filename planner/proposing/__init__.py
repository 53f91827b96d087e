"""The question before the stack file: what to rent or to buy for so many tokens, or for so many requests a second."""

"""A stack of owned machines as virtual ones on one computer, and its switches as Mininet builds them."""

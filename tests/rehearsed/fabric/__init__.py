"""InfiniBand fabrics without a card: ibsim simulates switches and HCAs, the real opensm assigns addresses, the real
tools discover.
"""

"""InfiniBand fabrics without a card: ibsim plays switches and cards, the real opensm gives addresses, the real tools
discover.
"""

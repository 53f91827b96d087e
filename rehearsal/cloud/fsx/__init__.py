"""FSx for Lustre, in place of moto's: life cycle, sizes, interfaces, updates."""

"""Charts in rehearsal: rendered by helm if the chart is available, otherwise simulated from inventories."""

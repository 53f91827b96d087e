"""Charts in rehearsal: rendered by helm where the chart is at hand, played from inventories elsewhere."""

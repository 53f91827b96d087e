"""What the room must give the machines: power, circuits, cooling, batteries, racks."""

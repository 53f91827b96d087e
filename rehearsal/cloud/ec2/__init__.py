"""EC2, where moto is too lenient or incomplete: networks, addresses, interfaces, templates, instances, placement."""

"""What a cluster costs: on AWS by the hour, in racks of one's own as a purchase, and one against the other."""

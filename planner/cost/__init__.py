"""What a cluster costs: on AWS by the hour, in on-premises racks as a purchase, and one against the other."""

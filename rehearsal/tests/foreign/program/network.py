import pulumi_aws as aws


class Network:
    """Two public subnets."""

    def __init__(self, name, cidr="10.40.0.0/16"):
        self.vpc = aws.ec2.Vpc(
            name, cidr_block=cidr, enable_dns_hostnames=True, enable_dns_support=True, tags={"Name": name}
        )
        gateway = aws.ec2.InternetGateway(name, vpc_id=self.vpc.id, tags={"Name": name})
        routes = aws.ec2.RouteTable(name, vpc_id=self.vpc.id, tags={"Name": name})
        out = aws.ec2.Route(name, route_table_id=routes.id, destination_cidr_block="0.0.0.0/0", gateway_id=gateway.id)
        self.subnets = []
        self.ready = [out]
        zones = aws.get_availability_zones(state="available").names
        for index, zone in enumerate(zones[:2]):
            subnet = aws.ec2.Subnet(
                f"{name}-{index}",
                vpc_id=self.vpc.id,
                cidr_block=f"10.40.{index}.0/24",
                availability_zone=zone,
                map_public_ip_on_launch=True,
                tags={"Name": f"{name}-{index}"},
            )
            self.ready.append(
                aws.ec2.RouteTableAssociation(f"{name}-{index}", subnet_id=subnet.id, route_table_id=routes.id)
            )
            self.subnets.append(subnet)

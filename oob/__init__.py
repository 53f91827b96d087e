"""Machines by their management controllers (BMC), out of band: Redfish behind one interface."""

"""The Vagrantfile: the same machines by libvirt or by VirtualBox, whichever the computer has."""

from collections.abc import Sequence

from vmlab.machines import Machine

BOX = "generic/ubuntu2204"
"""A box that is published for both providers; VM_BOX names another."""

_HEAD = """\
# -*- mode: ruby -*-
# vagrant up --provider=libvirt, or --provider=virtualbox. VM_BOX is another box.
"""

_BODY = """
Vagrant.configure("2") do |config|
  config.vm.box = ENV.fetch("VM_BOX", "{box}")
  config.vm.synced_folder ".", "/vagrant", disabled: true

  MACHINES.each do |name, machine|
    config.vm.define name do |node|
      node.vm.hostname = name
      node.vm.network "private_network", ip: machine[:address]
      node.vm.provider "libvirt" do |vm|
        vm.cpus = machine[:cpus]
        vm.memory = machine[:memory]
      end
      node.vm.provider "virtualbox" do |vm|
        vm.cpus = machine[:cpus]
        vm.memory = machine[:memory]
      end
      node.vm.provision "shell", path: "provision.sh",
        env: {{ "ROLE" => machine[:role], "STORAGE" => STORAGE, "NETWORK" => "{network}", "MACHINES" => HOSTS }}
    end
  end
end
"""


def vagrantfile(machines: Sequence[Machine], network: str) -> str:
    """The file for machines on a network of the host alone, in CIDR."""
    rows = [
        f'  "{each.name}" => {{ role: "{each.role}", address: "{each.address}", cpus: {each.cpus}, '
        f"memory: {each.memory_mib} }},"
        for each in machines
    ]
    storage = next((each.address for each in machines if each.role == "storage"), "")
    lines = [
        "MACHINES = {",
        *rows,
        "}.freeze",
        f'STORAGE = "{storage}".freeze',
        'HOSTS = MACHINES.map { |name, machine| "#{machine[:address]} #{name}" }.join(",").freeze',
    ]
    return _HEAD + "\n".join(lines) + "\n" + _BODY.format(box=BOX, network=network)

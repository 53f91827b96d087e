"""Stand-ins for the plugins that the Pulumi engine starts: resource providers and the language host."""

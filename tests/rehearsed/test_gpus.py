"""What the catalogue and the rehearsal, which know nothing of each other, both say of GPUs."""

from catalogue import gpus as catalogue_gpus
from catalogue.types import Gpu
from rehearsal.devices import gpus
from rehearsal.tests.inside import facts


def test_both_tables_of_profiles_agree() -> None:
    """The rehearsal has a table of its own, so that a mistake in the catalogue ends in Pending pods."""
    known = {each.product: each for each in vars(catalogue_gpus).values() if isinstance(each, Gpu)}
    compared = []
    for name in ("p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5en.48xlarge", "g6e.xlarge"):
        found = gpus.find(facts.type_of(name))
        assert found is not None
        assert {each.name: each.count for each in known[found.product].mig} == dict(found.slices)
        compared.append(len(found.slices))
    assert compared == [6, 6, 6, 6, 0]

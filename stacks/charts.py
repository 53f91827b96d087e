"""Charts of the catalogue as components take them, and whether their packages are those on record."""

from collections.abc import Iterator
from pathlib import Path

from catalogue.chart_digests import ALL_CHARTS, package_name, wrong
from catalogue.supply import Supply
from catalogue.versions import Chart
from components.platform.charts import ChartSource
from planner.types import Plan


def chart_source(chart: Chart, supply: Supply) -> ChartSource:
    """The catalogue's row, and where the chart and its images come from in this stack."""
    package = f"{supply.charts}/{package_name(chart)}" if supply.charts else None
    images = supply.values(chart.name)
    return ChartSource(
        name=chart.name, version=chart.version, repository=chart.repository, images=images, package=package
    )


def unlike_record(plan: Plan) -> Iterator[str]:
    """One sentence for each package that is not there, or not the one on record. Reads them, where the program runs."""
    for name in plan.charts if plan.supply.charts else ():
        chart = ALL_CHARTS[name]
        if said := wrong(chart, Path(str(plan.supply.charts)) / package_name(chart)):
            yield f"gpucluster:supply.charts: {said}"

"""Charts of the catalogue as components take them."""

from catalogue.supply import Supply
from catalogue.versions import Chart
from components.platform.charts import ChartSource


def chart_source(chart: Chart, supply: Supply) -> ChartSource:
    """The catalogue's row, and where the chart's images come from in this stack."""
    images = supply.values(chart.name)
    return ChartSource(name=chart.name, version=chart.version, repository=chart.repository, images=images)

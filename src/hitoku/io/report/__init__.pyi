from hitoku.io.report.findings import LIGHTS as LIGHTS
from hitoku.io.report.findings import Light as Light
from hitoku.io.report.findings import row_class as row_class
from hitoku.io.report.pictures import Bar as Bar
from hitoku.io.report.pictures import adjusted_bar as adjusted_bar
from hitoku.io.report.pictures import interval_bar as interval_bar
from hitoku.io.report.report import page as page
from hitoku.io.report.report import write_report as write_report

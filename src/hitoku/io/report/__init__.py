"""``checker/report.html``: all the evidence on one page, for the person who signs a release."""

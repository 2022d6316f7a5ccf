"""Shared parts of web applications: pages, static files, and security of requests.

An application has a folder with ``templates`` and ``static`` and creates a :class:`~hitoku.web.site.Site`
from it. Its ``page.html`` extends ``base.html``, which loads only scripts of the site. Templates and static
files of this package are searched after those of the application, which can replace one by another of the
same name.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

"""Parts that web applications share: pages with their styles and scripts, and the security of requests.

An application has a folder with ``templates`` and ``static`` and makes a :class:`~hitoku.web.site.Site` of
it. Its ``page.html`` extends ``base.html``, which loads scripts of the site alone. Templates and static files
of this package lie behind those of the application, which can replace one by another of the same name.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

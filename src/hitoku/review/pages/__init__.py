"""One file per part of the application: each page parses, calls one function and fills a template."""

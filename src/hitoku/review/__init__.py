"""The review application: where output checkers work, in a browser, inside an enclave without internet."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

"""Evidence of safety: whether a release meets its need, and the proof.

:func:`audit` decides for every unsafe cell, by exact witnesses (tables that an attacker cannot rule out) or
by Farkas certificates of disclosure; :class:`Audit` is the result and :class:`Certificate` the proof as a
file. :func:`derivable_groups`, attributes of groups and adjusted releases have separate audits.
:class:`Outcome` combines a protected table, attacks and audit, and :func:`judge` derives a verdict from it.
The verifier (:func:`verify`) reads a certificate with the standard library alone and imports nothing of
hitoku. Evidence never imports methods: the audit does not depend on the code it audits.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

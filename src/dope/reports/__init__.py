"""Words and pictures.

In: an `Estimate`, with the fit behind it where there is one. Out: matplotlib axes, and one self-contained HTML page.
Must hold: every number is the estimate's own; warnings stand beside the intervals they concern; what is estimated is
said in words; nothing of a user's text is taken for markup; the page asks nothing of the network.
"""

from dope.reports.page import report

__all__ = ["report"]

"""What a principle says about evidence: masks of what is unsafe, and verdicts on what leaves."""

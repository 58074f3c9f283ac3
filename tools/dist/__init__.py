"""What `tools/verify_dist` checks, a module for each kind of claim.

The claims are listed in `claims.py`; how a verdict is reached and shown is in `verdicts.py`.
"""

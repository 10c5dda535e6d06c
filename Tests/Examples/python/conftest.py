"""Every test here may ask for `world`. An app's own tests have a copy of streaksnap_testing.py
beside this file, and need no path.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "Shared" / "StreakSnapTesting" / "python"))

pytest_plugins = ["streaksnap_testing"]

"""Questions and answers as docs/pipeline.md shows them."""

from __future__ import annotations

import re
from typing import Final

QUESTION: Final = re.compile(r"```sql\n(?P<sql>.*?)```\n\n```text\n(?P<answer>.*?)```\n", re.DOTALL)

"""What stops a job: a sentence about what is wrong and one about what to do next."""

from __future__ import annotations


class PipelineError(Exception):
    """Raised for what the caller can mend: no Java, no lake, a full disk, two writers."""

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.what}\n  next: {self.next_step}" if self.next_step else self.what

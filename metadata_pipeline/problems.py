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


def reason(error: BaseException) -> str:
    """A failure inside Spark in one line: the innermost cause that a Java trace names, else the line that names an
    exception, else the first.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    named = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    return (causes[-1:] or named or lines or [type(error).__name__])[0]

"""What both roles answer from the image."""

"""What people see of a plan: its steps ahead and behind, their risks, and what an approval names."""

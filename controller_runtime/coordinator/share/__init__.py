"""Share groups (KIP-932) as their coordinator sees them: members, who is assigned what, which states are kept."""

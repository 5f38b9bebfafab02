"""What the authorizer says of requests, and how their answers say it."""

"""A quorum that lost its majority, made anew: stages, what the copies say, what is made of them, what is reported."""

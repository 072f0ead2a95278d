"""Speed: forms of the core that are faster on some machines; each names the plain form that it equals."""

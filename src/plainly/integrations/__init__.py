"""plainly where developers already are: each module speaks to one other tool, and imports it only there."""

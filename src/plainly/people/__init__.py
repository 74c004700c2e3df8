"""What people said of simplifications: ratings by system, item and rater, from any table or from the public sets."""

from plainly.people.ratings import Judgements, Rating, Ratings, Units
from plainly.people.sources import RatingsLike, load, read_ratings, usual_dimension

__all__ = ["Judgements", "Rating", "Ratings", "RatingsLike", "Units", "load", "read_ratings", "usual_dimension"]

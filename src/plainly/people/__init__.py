"""Human ratings of simplifications, by system, item and rater, and the analyses of them."""

from plainly.people.rating_tables import RatingsLike, load, read_ratings, usual_dimension
from plainly.people.ratings import Judgements, Rating, Ratings, Units

__all__ = ["Judgements", "Rating", "Ratings", "RatingsLike", "Units", "load", "read_ratings", "usual_dimension"]

"""What people said of simplifications: ratings by system, item and rater, from any table or from the public sets."""

from plainly.ratings.named import RatingsLike, take, usual_dimension
from plainly.ratings.public import load
from plainly.ratings.read import read_ratings
from plainly.ratings.types import Judgements, Rating, Ratings, Units

__all__ = ["Judgements", "Rating", "Ratings", "RatingsLike", "Units", "load", "read_ratings", "take", "usual_dimension"]

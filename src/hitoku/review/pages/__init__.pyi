from hitoku.review.pages import administration as administration
from hitoku.review.pages import entrance as entrance
from hitoku.review.pages import leaving as leaving
from hitoku.review.pages import outputs as outputs
from hitoku.review.pages import requests as requests

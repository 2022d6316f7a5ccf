from hitoku.review.pages import administration as administration
from hitoku.review.pages import outputs as outputs
from hitoku.review.pages import released_outputs as released_outputs
from hitoku.review.pages import requests as requests
from hitoku.review.pages import sign_in as sign_in

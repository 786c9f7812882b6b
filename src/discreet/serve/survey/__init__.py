"""Run surveys under local differential privacy: the respondent's browser randomises, and the service counts.

    surveys      Surveys: signed collections, invitation codes, keys of tickets, in the service's folder
    counter      Counter: the reports of a survey, one for each code or ticket; blind signatures for tickets
    tally        Tally: counts and used passes, in a file that does not tell the order of arrivals
    older        surveys that an older version stored
    respondent   GET /s/ID, /s/ID/collection, POST /s/ID/tickets, /s/ID/reports …: for strangers, without a cookie
    manage       /surveys: create one, share its link, watch estimates arrive
    client       the JavaScript client, from the wheel or from the repository
    templates/   the pages
    static/      the script and the style of the respondent's page

The link has the public key in its fragment, which no browser sends. The page verifies the collection with it
before it shows a form. The key guards the collection and not the script: a server can serve another script. So
the page can be saved, read, and hosted elsewhere.
"""

"""Tables, findings and pictures. Pictures need the extra `notebooks`; the rest needs nothing."""

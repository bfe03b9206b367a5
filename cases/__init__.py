"""What the doctor and the report card are tried on; read by tests, site and docs.

case       the decorator: a patient or a healthy step
judge      what the doctor says of a case, and what is wrong with that
claims     are its claims true? decided by plain torch
small      cases that need torch alone
real       models of other libraries: `make cases` examines them
rule_ids   the rule that each small case gets
library_*  functions of other libraries, and their report cards
"""

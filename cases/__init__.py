"""What the report card is tried on, beside the tests: functions of other libraries."""

"""Pictures that follow sliders."""

"""The notebooks as a website that needs no kernel and no network: `make site`."""

"""What an explanation is worth, measured on the model itself. Plain functions, one file each."""

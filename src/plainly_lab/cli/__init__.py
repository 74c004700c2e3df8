"""The commands of plainly_lab: train, reproduce, field and grid."""

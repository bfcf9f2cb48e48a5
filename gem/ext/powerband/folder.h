/* The private folder of this user that flight files lie in. `default_root`: nobody named the root, it lies in /tmp. */
#ifndef POWERBAND_FOLDER_H
#define POWERBAND_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the root where it is not there. */
bool pb_folder_make(const char *root, bool default_root, char *reason, size_t reason_size);

/* A descriptor of the folder, which is made where it is not there and is nobody else's; -1 with a reason. */
int pb_folder_open(const char *root, bool default_root, char *reason, size_t reason_size);

#endif

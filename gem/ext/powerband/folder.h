/* The private folder of this user that flight files lie in. `default_root`: no root was configured, so /tmp. */
#ifndef POWERBAND_FOLDER_H
#define POWERBAND_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the root where it is not there. */
bool pb_folder_make(const char *root, bool default_root, char *reason, size_t reason_size);

/* A descriptor of the folder, which is made if it does not exist; -1 with a reason, e.g. when another user owns it. */
int pb_folder_open(const char *root, bool default_root, char *reason, size_t reason_size);

#endif

/* Names of endpoints, and their places in the endpoint table. */
#ifndef POWERBAND_ENDPOINT_H
#define POWERBAND_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "layout.h"

/* Writes "METHOD /path" with what identifies a record or a user as :id. */
void pb_endpoint_path_name(char name[PB_NAME_SIZE], const char *method, const char *path, size_t path_length);

/* Writes "METHOD (not found)" for 404, else "METHOD (401)" and the like: a path that was redirected or refused before it
 * was routed is chosen by the client, and their number has no limit. */
void pb_endpoint_status_name(char name[PB_NAME_SIZE], const char *method, uint16_t status);

/* Writes "controller#action". */
void pb_endpoint_action_name(char name[PB_NAME_SIZE], const char *controller, size_t controller_length,
                             const char *action, size_t action_length);

/* Writes the prefix and then what the endpoint or the job was called by the application. */
void pb_endpoint_given_name(char name[PB_NAME_SIZE], const char *prefix, const char *text, size_t length);

/* The entry of that name, made if there is none; entry 0 once there is no room. Names that are not `routed` come from
 * clients and may take half of the places. */
uint16_t pb_endpoint_index(const char name[PB_NAME_SIZE], bool routed);

/* For a new file: nothing is known but entry 0. */
void pb_endpoint_reset(void);

#endif

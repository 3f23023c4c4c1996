/* octet.h is plain C: this file is compiled as C99 with every warning an error. */
#include <octet/octet.h>
#include <octet/version.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  octet_node* node = octet_node_create("", "MatMulInteger", 10, NULL);
  octet_status* status = octet_node_set_input(node, 0, OCTET_TYPE_UINT8, NULL, -2);
  const int refused = octet_status_code(status) == OCTET_INVALID_ARGUMENT && strlen(octet_status_text(status)) > 0;
  octet_status_release(status);
  octet_node_release(node);
  if (strcmp(octet_version(), OCTET_VERSION) != 0 || octet_abi_version() != OCTET_ABI_VERSION || !refused) {
    fprintf(stderr, "octet.h and liboctet disagree\n");
    return 1;
  }
  return 0;
}

/* y = (a - 2) * b in exact int32: MatMulInteger with constant weights, through the flat C interface. */
#include <octet/octet.h>

#include <stdio.h>
#include <stdlib.h>

static void check(octet_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", octet_status_text(status));
  octet_status_release(status);
  exit(1);
}

static void* made(void* handle) {
  if (handle != NULL) return handle;
  fprintf(stderr, "%s\n", octet_last_error());
  exit(1);
}

int main(void) {
  const uint8_t a[] = {1, 2, 3, 255, 0, 1}, a_zero_point = 2;
  const int8_t b[] = {1, -2, 3, 4, -128, 127};
  const int64_t a_dims[] = {2, 3}, b_dims[] = {3, 2}, y_dims[] = {2, 2};
  int32_t y[4];

  octet_node* node = made(octet_node_create("ai.onnx", "MatMulInteger", 10, "product"));
  check(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, a_dims, 2));
  check(octet_node_set_constant(node, 1, OCTET_TYPE_INT8, b_dims, 2, b, sizeof b));
  check(octet_node_set_constant(node, 2, OCTET_TYPE_UINT8, NULL, 0, &a_zero_point, sizeof a_zero_point));
  octet_operator* product = made(octet_operator_create(node));

  octet_call* call = made(octet_call_create(product));
  check(octet_call_set_input(call, 0, OCTET_TYPE_UINT8, a_dims, 2, a, sizeof a));
  check(octet_call_set_output(call, 0, OCTET_TYPE_INT32, y_dims, 2, y, sizeof y));
  check(octet_call_run(call));
  printf("%d %d\n%d %d\n", y[0], y[1], y[2], y[3]);

  octet_call_release(call);
  octet_operator_release(product);
  octet_node_release(node);
  return 0;
}

// What ONNX Runtime finds in the library: a factory of providers.
#include <memory>

#include "provider/ort/api.hpp"
#include "provider/ort/ep.hpp"
#include "provider/ort/kernel.hpp"

namespace octet::ort {
namespace {

constexpr const char* kVendor = "Octet";

class Factory : public OrtEpFactory {
 public:
  Factory() : OrtEpFactory{}, registry_(create_kernel_registry()) {
    ort_version_supported = kApiLevel;
    OrtEpFactory::GetName = [](const OrtEpFactory*) { return kEpName; };
    OrtEpFactory::GetVendor = [](const OrtEpFactory*) { return kVendor; };
    OrtEpFactory::GetVendorId = [](const OrtEpFactory*) { return std::uint32_t{0}; };
    OrtEpFactory::GetVersion = [](const OrtEpFactory*) { return version(); };
    OrtEpFactory::GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                           std::size_t num_devices, OrtEpDevice** ep_devices,
                                           std::size_t max_ep_devices, std::size_t* num_ep_devices) {
      return guard([&] {
        *num_ep_devices = 0;
        for (std::size_t i = 0; i < num_devices && *num_ep_devices < max_ep_devices; ++i) {
          if (ort_api().HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
          check(ep_api().CreateEpDevice(self, devices[i], nullptr, nullptr, &ep_devices[*num_ep_devices]));
          ++*num_ep_devices;
        }
      });
    };
    OrtEpFactory::CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*,
                                std::size_t, const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) {
      return guard([&] { *ep = new Ep(options, logger, static_cast<Factory*>(self)->registry_); });
    };
    OrtEpFactory::ReleaseEp = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Ep*>(ep); };
    // ONNX Runtime calls this without asking whether it is there. Null: tensors are in CPU memory.
    OrtEpFactory::CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** data_transfer) -> Status {
      *data_transfer = nullptr;
      return nullptr;
    };
  }
  ~Factory() { ep_api().ReleaseKernelRegistry(registry_); }
  Factory(const Factory&) = delete;
  Factory& operator=(const Factory&) = delete;

 private:
  OrtKernelRegistry* registry_;
};

}  // namespace
}  // namespace octet::ort

// NOLINTBEGIN(readability-identifier-naming): ONNX Runtime looks for these names.
#define OCTET_ENTRY extern "C" __attribute__((visibility("default")))

OCTET_ENTRY octet::ort::OrtStatus* CreateEpFactories(const char* /*registered_name*/,
                                                     const octet::ort::OrtApiBase* base,
                                                     const octet::ort::OrtLogger* /*default_logger*/,
                                                     octet::ort::OrtEpFactory** factories, std::size_t max_factories,
                                                     std::size_t* num_factories) {
  using namespace octet::ort;
  *num_factories = 0;
  if (Status too_old = load_api(base)) return too_old;
  return guard([&] {
    if (max_factories == 0)
      throw octet::Error(octet::ErrorCode::invalid_argument, "Octet: no room for its provider factory");
    factories[0] = new Factory();
    *num_factories = 1;
  });
}

OCTET_ENTRY octet::ort::OrtStatus* ReleaseEpFactory(octet::ort::OrtEpFactory* factory) {
  delete static_cast<octet::ort::Factory*>(factory);
  return nullptr;
}
// NOLINTEND(readability-identifier-naming)

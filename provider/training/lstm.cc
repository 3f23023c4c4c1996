// The public class, thin over TrainedLstm.
#include <octet/training.hpp>

#include "provider/training/trained_lstm.hpp"

namespace octet::training {

Lstm::Lstm(LstmDefinition definition) : state_(std::make_unique<core::TrainedLstm>(std::move(definition))) {}
Lstm::~Lstm() = default;
Lstm::Lstm(Lstm&&) noexcept = default;
Lstm& Lstm::operator=(Lstm&&) noexcept = default;

TensorView Lstm::w() const noexcept { return state_->w(); }
TensorView Lstm::r() const noexcept { return state_->r(); }
TensorView Lstm::b() const noexcept { return state_->b(); }
TensorView Lstm::p() const noexcept { return state_->p(); }

void Lstm::calibrate() { state_->calibrate(); }
QuantizedLstmWeights Lstm::quantize() const { return state_->quantize(); }
bool Lstm::training() const noexcept { return state_->training(); }
void Lstm::set_training(bool training) noexcept { state_->set_training(training); }
float Lstm::lda_coeff() const noexcept { return state_->lda_coeff(); }
std::size_t Lstm::stored_bytes() const noexcept { return state_->stored_bytes(); }

void Lstm::forward(const LstmInputs& inputs, const LstmOutputs& outputs) { state_->forward(inputs, outputs); }
void Lstm::backward(const LstmOutputs& outputs, const LstmGradients& gradients) {
  state_->backward(outputs, gradients);
}

}  // namespace octet::training

#include <bora/bora.h>
#include <bora/eigen.h>

int main() {
  Eigen::MatrixXf m = Eigen::MatrixXf::Identity(3, 3) * 2;
  return bora::sum(bora::asarray(m)).item<float>() == 6.f ? 0 : 1;
}

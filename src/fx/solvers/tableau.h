// tableau.h -- the coefficients of a Runge-Kutta method whose last stage is the end of the step. Private.
#pragma once
#include <vector>
#include "bora/fx/solve_ivp.h"

namespace bora::fx {
struct Tableau {
  double order;                        // of the step, and of its error's root
  std::vector<std::vector<double>> a;  // of each stage after the first, for the stages before it
  std::vector<double> c;               // of each stage after the first: its time
  std::vector<double> error;           // of each stage: the difference to the method of lower order
  std::vector<std::vector<double>> dense;  // of each stage: a polynomial's coefficients, from the first power on
  double diagonal = 0;                     // of the stages after the first; 0: the method is explicit
  std::vector<std::vector<double>> guess = {};  // of an implicit stage, by the stages before it
};
const Tableau& tableau(integrate::OdeMethod method);
}  // namespace bora::fx

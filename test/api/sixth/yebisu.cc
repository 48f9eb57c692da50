// A client as Yebisu's own programs are: C++ names, structs of its own.
#include <cmath>
#include <cstdio>

struct predictor {
    double pos[3], vel[3], acc[3], mass, id, eps2;
};
struct Force {
    double acc[3], jrk[3], snp[3], phi;
    int nnb_id;
    float nnb_r2;
};
void initialize(int n);
void set_jp(int add, double mass, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
            double crk[3], double time, int id, double eps2);
void predict_all(double time, int nj);
void no_predict_all(double time, int nj);
void pick_up_predictor(int addr, predictor &to);
void calc_force_on_predictors(int ni, predictor pred[], Force force[], int nj);

int main()
{
    double x[2][3] = {{0, 0, 0}, {2, 0, 0}}, zero[3] = {0, 0, 0}, v[3] = {0, 1, 0};
    predictor p[2];
    Force f[2];
    initialize(2);
    for (int k = 0; k < 2; k++) set_jp(k, 1 + 3 * k, x[k], k ? v : zero, zero, zero, zero, zero, 0, k + 1, 0);
    no_predict_all(0, 2);
    predict_all(0, 2);
    for (int k = 0; k < 2; k++) pick_up_predictor(k, p[k]);
    calc_force_on_predictors(2, p, f, 2);
    const bool good = std::fabs(f[0].acc[0] - 1) < 1e-14 && std::fabs(f[0].jrk[1] - 0.5) < 1e-14 &&
                      std::fabs(f[1].acc[0] + 0.25) < 1e-14 && std::fabs(f[0].phi - 2) < 1e-14 && f[0].nnb_id == 2 &&
                      f[1].nnb_r2 == 4 && p[1].vel[1] == 1;
    if (!good) std::printf("acc %g, jerk %g, phi %g, nearest %d\n", f[0].acc[0], f[0].jrk[1], f[0].phi, f[0].nnb_id);
    return !good;
}

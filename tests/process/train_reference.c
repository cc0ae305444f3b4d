/*
 * train_reference.c - the losses of examples/train, computed in float64 by code that knows nothing of the library:
 * forward pass, backward pass by hand, Adam. `train_reference mlp|decoder STEPS` prints a line for each step, as the
 * example does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/train_model.h"

enum { ROWS = BATCH * LENGTH, MOST = 64 };

/* A parameter with its gradient and the two means of Adam. */
struct tensor {
    int size;
    double *value, *gradient, *m, *v;
};

static double *zeros(size_t count)
{
    double *made = calloc(count, sizeof *made);
    if (!made) exit(2);
    return made;
}

static void begin(struct tensor *tensors, const struct parameter *parameters, int count)
{
    for (int i = 0; i < count; i++) {
        size_t size = (size_t)parameter_size(&parameters[i]);
        float *values = calloc(size, sizeof *values);
        if (!values) exit(2);
        first_values(&parameters[i], (uint32_t)i, values);
        tensors[i] = (struct tensor){(int)size, zeros(size), zeros(size), zeros(size), zeros(size)};
        for (size_t k = 0; k < size; k++) tensors[i].value[k] = (double)values[k];
        free(values);
    }
}

static void update(struct tensor *tensors, int count, double rate)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < tensors[i].size; k++) {
            double g = tensors[i].gradient[k], *m = &tensors[i].m[k], *v = &tensors[i].v[k];
            *m = BETA_1 * *m + (1 - BETA_1) * g;
            *v = BETA_2 * *v + (1 - BETA_2) * g * g;
            tensors[i].value[k] -= rate * *m / (sqrt(*v) + EPSILON);
            tensors[i].gradient[k] = 0;
        }
}

/* ---- products -----------------------------------------------------------------------------------------------------
 */

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && !defined __SANITIZE_THREAD__
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif

/* out (n, m) += a (n, k) @ b (k, m) */
FAST static void add_product(double *restrict out, const double *restrict a, const double *restrict b, int n, int k,
                             int m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k; j++) {
            double by = a[i * k + j];
            for (int c = 0; c < m; c++) out[i * m + c] += by * b[j * m + c];
        }
}

/* out (k, m) += a' @ b, of a (n, k) and b (n, m) */
FAST static void add_inner(double *restrict out, const double *restrict a, const double *restrict b, int n, int k,
                           int m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k; j++) {
            double by = a[i * k + j];
            for (int c = 0; c < m; c++) out[j * m + c] += by * b[i * m + c];
        }
}

/* out (n, k) += c (n, m) @ b', of b (k, m) */
static void add_outer(double *out, const double *c, const double *b, int n, int k, int m)
{
    double *turned = zeros((size_t)k * (size_t)m);
    for (int i = 0; i < k; i++)
        for (int j = 0; j < m; j++) turned[j * k + i] = b[i * m + j];
    add_product(out, c, turned, n, m, k);
    free(turned);
}

/* y = x @ w; and back: dx += dy @ w', dw += x' @ dy */
static void linear(double *y, const double *x, const struct tensor *w, int n, int k, int m)
{
    memset(y, 0, (size_t)n * (size_t)m * sizeof *y);
    add_product(y, x, w->value, n, k, m);
}

static void linear_back(double *dx, const double *dy, const double *x, struct tensor *w, int n, int k, int m)
{
    add_outer(dx, dy, w->value, n, k, m);
    add_inner(w->gradient, x, dy, n, k, m);
}

/* The loss, and in `scores` its gradient by them. */
static double cross_entropy(double *scores, const int *labels, int n, int classes)
{
    double loss = 0;
    for (int i = 0; i < n; i++) {
        double *row = &scores[i * classes], most = row[0], sum = 0;
        for (int c = 1; c < classes; c++) most = row[c] > most ? row[c] : most;
        for (int c = 0; c < classes; c++) sum += exp(row[c] - most);
        loss += log(sum) + most - row[labels[i]];
        for (int c = 0; c < classes; c++) row[c] = (exp(row[c] - most) / sum - (c == labels[i])) / n;
    }
    return loss / n;
}

/* ---- points -------------------------------------------------------------------------------------------------------
 */

static void add_bias(double *y, const struct tensor *bias, int n)
{
    for (int i = 0; i < n * bias->size; i++) y[i] += bias->value[i % bias->size];
}

static void bias_back(const double *dy, struct tensor *bias, int n)
{
    for (int i = 0; i < n * bias->size; i++) bias->gradient[i % bias->size] += dy[i];
}

static double mlp_loss(struct tensor *p)
{
    static double x[POINTS * 2], a[POINTS * NEURONS], b[POINTS * NEURONS], y[POINTS * SPIRALS];
    static double da[POINTS * NEURONS], db[POINTS * NEURONS], dx[POINTS * 2];
    float points[POINTS][2];
    int labels[POINTS];
    make_points(points, labels);
    for (int i = 0; i < POINTS * 2; i++) x[i] = (double)points[i / 2][i % 2];
    linear(a, x, &p[WEIGHT_1], POINTS, 2, NEURONS);
    add_bias(a, &p[BIAS_1], POINTS);
    for (int i = 0; i < POINTS * NEURONS; i++) a[i] = tanh(a[i]);
    linear(b, a, &p[WEIGHT_2], POINTS, NEURONS, NEURONS);
    add_bias(b, &p[BIAS_2], POINTS);
    for (int i = 0; i < POINTS * NEURONS; i++) b[i] = tanh(b[i]);
    linear(y, b, &p[WEIGHT_3], POINTS, NEURONS, SPIRALS);
    add_bias(y, &p[BIAS_3], POINTS);
    double loss = cross_entropy(y, labels, POINTS, SPIRALS);
    memset(da, 0, sizeof da);
    memset(db, 0, sizeof db);
    linear_back(db, y, b, &p[WEIGHT_3], POINTS, NEURONS, SPIRALS);
    bias_back(y, &p[BIAS_3], POINTS);
    for (int i = 0; i < POINTS * NEURONS; i++) db[i] *= 1 - b[i] * b[i];
    linear_back(da, db, a, &p[WEIGHT_2], POINTS, NEURONS, NEURONS);
    bias_back(db, &p[BIAS_2], POINTS);
    for (int i = 0; i < POINTS * NEURONS; i++) da[i] *= 1 - a[i] * a[i];
    linear_back(dx, da, x, &p[WEIGHT_1], POINTS, 2, NEURONS);
    bias_back(da, &p[BIAS_1], POINTS);
    return loss;
}

/* ---- the decoder --------------------------------------------------------------------------------------------------
 */

static void norm(double *y, const double *x, const struct tensor *weight)
{
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < WIDTH; i++) sum += x[r * WIDTH + i] * x[r * WIDTH + i];
        double scale = 1 / sqrt(sum / WIDTH + (double)NORM_EPSILON);
        for (int i = 0; i < WIDTH; i++) y[r * WIDTH + i] = x[r * WIDTH + i] * scale * weight->value[i];
    }
}

/* dx += */
static void norm_back(double *dx, const double *dy, const double *x, struct tensor *weight)
{
    for (int r = 0; r < ROWS; r++) {
        const double *row = &x[r * WIDTH], *c = &dy[r * WIDTH];
        double sum = 0, along = 0;
        for (int i = 0; i < WIDTH; i++) {
            sum += row[i] * row[i];
            along += c[i] * weight->value[i] * row[i];
        }
        double scale = 1 / sqrt(sum / WIDTH + (double)NORM_EPSILON);
        for (int i = 0; i < WIDTH; i++) {
            dx[r * WIDTH + i] += scale * c[i] * weight->value[i] - scale * scale * scale * along / WIDTH * row[i];
            weight->gradient[i] += c[i] * row[i] * scale;
        }
    }
}

/* Pairs (i, i + HEAD / 2) of each head turn by their position; backwards for the gradient. */
static void rotate(double *x, int direction)
{
    for (int r = 0; r < ROWS; r++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < HEAD / 2; i++) {
                double *a = &x[r * WIDTH + h * HEAD + i], *b = a + HEAD / 2, was = *a;
                double angle = direction * (r % LENGTH) * pow(ROPE_BASE, -2.0 * i / HEAD);
                *a = was * cos(angle) - *b * sin(angle);
                *b = was * sin(angle) + *b * cos(angle);
            }
}

struct layer {
    double x[ROWS * WIDTH], normal[ROWS * WIDTH], q[ROWS * WIDTH], k[ROWS * WIDTH], v[ROWS * WIDTH], seen[ROWS * WIDTH];
    double weights[BATCH][HEADS][LENGTH][LENGTH];
    double between[ROWS * WIDTH], normal_2[ROWS * WIDTH], gate[ROWS * HIDDEN], up[ROWS * HIDDEN], mixed[ROWS * HIDDEN];
};

static void attend(struct layer *l)
{
    memset(l->seen, 0, sizeof l->seen);
    for (int b = 0; b < BATCH; b++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < LENGTH; i++) {
                double *w = l->weights[b][h][i], sum = 0, most = -1e300;
                const double *q = &l->q[(b * LENGTH + i) * WIDTH + h * HEAD];
                double *out = &l->seen[(b * LENGTH + i) * WIDTH + h * HEAD];
                for (int j = 0; j <= i; j++) {
                    const double *k = &l->k[(b * LENGTH + j) * WIDTH + h * HEAD];
                    w[j] = 0;
                    for (int d = 0; d < HEAD; d++) w[j] += q[d] * k[d];
                    w[j] /= sqrt(HEAD);
                    most = w[j] > most ? w[j] : most;
                }
                for (int j = 0; j <= i; j++) sum += w[j] = exp(w[j] - most);
                for (int j = 0; j <= i; j++) {
                    const double *v = &l->v[(b * LENGTH + j) * WIDTH + h * HEAD];
                    w[j] /= sum;
                    for (int d = 0; d < HEAD; d++) out[d] += w[j] * v[d];
                }
            }
}

static void attend_back(const struct layer *l, const double *dout, double *dq, double *dk, double *dv)
{
    for (int b = 0; b < BATCH; b++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < LENGTH; i++) {
                const double *w = l->weights[b][h][i];
                int row = (b * LENGTH + i) * WIDTH + h * HEAD;
                double dw[LENGTH], sum = 0;
                for (int j = 0; j <= i; j++) {
                    int key = (b * LENGTH + j) * WIDTH + h * HEAD;
                    dw[j] = 0;
                    for (int d = 0; d < HEAD; d++) {
                        dw[j] += dout[row + d] * l->v[key + d];
                        dv[key + d] += w[j] * dout[row + d];
                    }
                    sum += dw[j] * w[j];
                }
                for (int j = 0; j <= i; j++) {
                    int key = (b * LENGTH + j) * WIDTH + h * HEAD;
                    double ds = w[j] * (dw[j] - sum) / sqrt(HEAD);
                    for (int d = 0; d < HEAD; d++) {
                        dq[row + d] += ds * l->k[key + d];
                        dk[key + d] += ds * l->q[row + d];
                    }
                }
            }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* x becomes the layer's output. */
static void forward(struct layer *l, struct tensor *p, double *x)
{
    memcpy(l->x, x, sizeof l->x);
    norm(l->normal, x, &p[NORM_1]);
    linear(l->q, l->normal, &p[QUERY], ROWS, WIDTH, WIDTH);
    linear(l->k, l->normal, &p[KEY], ROWS, WIDTH, WIDTH);
    linear(l->v, l->normal, &p[VALUE], ROWS, WIDTH, WIDTH);
    rotate(l->q, 1);
    rotate(l->k, 1);
    attend(l);
    add_product(x, l->seen, p[OUT].value, ROWS, WIDTH, WIDTH);
    memcpy(l->between, x, sizeof l->between);
    norm(l->normal_2, x, &p[NORM_2]);
    linear(l->gate, l->normal_2, &p[GATE], ROWS, WIDTH, HIDDEN);
    linear(l->up, l->normal_2, &p[UP], ROWS, WIDTH, HIDDEN);
    for (int i = 0; i < ROWS * HIDDEN; i++) l->mixed[i] = l->gate[i] * sigmoid(l->gate[i]) * l->up[i];
    add_product(x, l->mixed, p[DOWN].value, ROWS, HIDDEN, WIDTH);
}

/* dx, the gradient by the output, becomes that by the input. */
static void backward(const struct layer *l, struct tensor *p, double *dx)
{
    static double dmixed[ROWS * HIDDEN], dgate[ROWS * HIDDEN], dup[ROWS * HIDDEN], dnormal[ROWS * WIDTH];
    static double dseen[ROWS * WIDTH], dq[ROWS * WIDTH], dk[ROWS * WIDTH], dv[ROWS * WIDTH];
    memset(dmixed, 0, sizeof dmixed);
    linear_back(dmixed, dx, l->mixed, &p[DOWN], ROWS, HIDDEN, WIDTH);
    for (int i = 0; i < ROWS * HIDDEN; i++) {
        double s = sigmoid(l->gate[i]);
        dup[i] = dmixed[i] * l->gate[i] * s;
        dgate[i] = dmixed[i] * l->up[i] * (s + l->gate[i] * s * (1 - s));
    }
    memset(dnormal, 0, sizeof dnormal);
    linear_back(dnormal, dup, l->normal_2, &p[UP], ROWS, WIDTH, HIDDEN);
    linear_back(dnormal, dgate, l->normal_2, &p[GATE], ROWS, WIDTH, HIDDEN);
    norm_back(dx, dnormal, l->between, &p[NORM_2]);
    memset(dseen, 0, sizeof dseen);
    linear_back(dseen, dx, l->seen, &p[OUT], ROWS, WIDTH, WIDTH);
    memset(dq, 0, sizeof dq);
    memset(dk, 0, sizeof dk);
    memset(dv, 0, sizeof dv);
    attend_back(l, dseen, dq, dk, dv);
    rotate(dq, -1);
    rotate(dk, -1);
    memset(dnormal, 0, sizeof dnormal);
    linear_back(dnormal, dq, l->normal, &p[QUERY], ROWS, WIDTH, WIDTH);
    linear_back(dnormal, dk, l->normal, &p[KEY], ROWS, WIDTH, WIDTH);
    linear_back(dnormal, dv, l->normal, &p[VALUE], ROWS, WIDTH, WIDTH);
    norm_back(dx, dnormal, l->x, &p[NORM_1]);
}

static double decoder_loss(struct tensor *p, int step)
{
    static struct layer layers[LAYERS];
    static double x[ROWS * WIDTH], dx[ROWS * WIDTH], normal[ROWS * WIDTH], dnormal[ROWS * WIDTH], scores[ROWS * WORDS];
    int tokens[BATCH][LENGTH + 1], labels[ROWS];
    make_tokens(step, tokens);
    for (int r = 0; r < ROWS; r++) {
        labels[r] = tokens[r / LENGTH][r % LENGTH + 1];
        memcpy(&x[r * WIDTH], &p[EMBEDDING].value[tokens[r / LENGTH][r % LENGTH] * WIDTH], WIDTH * sizeof *x);
    }
    for (int i = 0; i < LAYERS; i++) forward(&layers[i], &p[FIRST_LAYER + i * LAYER_PARAMETERS], x);
    norm(normal, x, &p[NORM]);
    linear(scores, normal, &p[HEAD_MATRIX], ROWS, WIDTH, WORDS);
    double loss = cross_entropy(scores, labels, ROWS, WORDS);
    memset(dx, 0, sizeof dx);
    memset(dnormal, 0, sizeof dnormal);
    linear_back(dnormal, scores, normal, &p[HEAD_MATRIX], ROWS, WIDTH, WORDS);
    norm_back(dx, dnormal, x, &p[NORM]);
    for (int i = LAYERS; i-- > 0;) backward(&layers[i], &p[FIRST_LAYER + i * LAYER_PARAMETERS], dx);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < WIDTH; i++)
            p[EMBEDDING].gradient[tokens[r / LENGTH][r % LENGTH] * WIDTH + i] += dx[r * WIDTH + i];
    return loss;
}

int main(int argc, char **argv)
{
    struct tensor tensors[MOST];
    if (argc < 3) return 2;
    bool is_mlp = strcmp(argv[1], "mlp") == 0;
    int count = is_mlp ? (int)MLP_PARAMETERS : (int)DECODER_PARAMETERS;
    begin(tensors, is_mlp ? mlp_parameters : decoder_parameters, count);
    for (int step = 1; step <= atoi(argv[2]); step++) {
        double loss = is_mlp ? mlp_loss(tensors) : decoder_loss(tensors, step);
        update(tensors, count, adam_rate(is_mlp ? MLP_RATE : DECODER_RATE, step));
        printf("%d %.12g\n", step, loss);
    }
    for (int i = 0; i < count; i++) {
        free(tensors[i].value);
        free(tensors[i].gradient);
        free(tensors[i].m);
        free(tensors[i].v);
    }
    return 0;
}

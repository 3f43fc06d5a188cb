/* One gradient step of DDPG for stacked ReLU perceptrons, and their answers to one observation.
 *
 * The same arithmetic as ddpg.py and networks.py, in which each small product costs less than the
 * call that asks for it. Here all gradients of all agents are one call, and nothing is allocated.
 *
 * A batch is kept feature by feature, [features, B]: weights are read as they lie in the genome,
 * [out, in] and then the biases, and what a layer says of a batch is worked on in long rows.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* Built for the oldest processor, and again for one with eight numbers a vector and a fused
 * multiply-add; which of the two is called is found out when the module is loaded. */
#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE __attribute__((target("avx2,fma"), flatten))
#define HAS_WIDE (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
#define WIDE
#define HAS_WIDE 0
#endif
static int is_wide;
#define TWICE(name, parameters, arguments)                     \
    WIDE static void name##_wide parameters { name arguments; } \
    static void name##_plain parameters { name arguments; }
#define CALL(name, ...) (is_wide ? name##_wide : name##_plain)(__VA_ARGS__)

typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
#define WIDTH 8
/* A tile of four rows and two vectors keeps its eight sums in registers. */
#define TILE 4
#define UNROLL _Pragma("GCC unroll 4")
#define MOST_LAYERS 16
#define MOST_CRITICS 16
/* One more whenever a call or what it computes changes; fused.py names the one that it fits. */
#define VERSION 2

/* ------------------------------------------------------------------ products */

/* A matrix that is read element by element: its element (m, k) is at[m * row + k * column]. */
typedef struct {
    const float *at;
    Py_ssize_t row, column;
} Factor;

INLINE void
tile(float *out, Py_ssize_t stride, Factor one, const float *other, Py_ssize_t other_stride,
     Py_ssize_t length, const int rows, const int vectors)
{
    eight sums[TILE][2];
    UNROLL for (int m = 0; m < rows; m++)
        UNROLL for (int v = 0; v < vectors; v++)
            sums[m][v] = *(const eight *)(out + m * stride + v * WIDTH);
    for (Py_ssize_t k = 0; k < length; k++) {
        const float *right = other + k * other_stride;
        const float *left = one.at + k * one.column;
        UNROLL for (int m = 0; m < rows; m++)
            UNROLL for (int v = 0; v < vectors; v++)
                sums[m][v] += left[m * one.row] * *(const eight *)(right + v * WIDTH);
    }
    UNROLL for (int m = 0; m < rows; m++)
        UNROLL for (int v = 0; v < vectors; v++)
            *(eight *)(out + m * stride + v * WIDTH) = sums[m][v];
}

INLINE void
last_columns(float *out, Py_ssize_t stride, Factor one, const float *other,
             Py_ssize_t other_stride, Py_ssize_t length, Py_ssize_t columns, const int rows)
{
    for (Py_ssize_t n = 0; n < columns; n++) {
        float sums[TILE];
        for (int m = 0; m < rows; m++)
            sums[m] = out[m * stride + n];
        for (Py_ssize_t k = 0; k < length; k++)
            for (int m = 0; m < rows; m++)
                sums[m] += one.at[m * one.row + k * one.column] * other[k * other_stride + n];
        for (int m = 0; m < rows; m++)
            out[m * stride + n] = sums[m];
    }
}

INLINE void
band(float *out, Py_ssize_t stride, Factor one, const float *other, Py_ssize_t other_stride,
     Py_ssize_t columns, Py_ssize_t length, const int rows)
{
    Py_ssize_t n = 0;
    for (; n + 2 * WIDTH <= columns; n += 2 * WIDTH)
        tile(out + n, stride, one, other + n, other_stride, length, rows, 2);
    if (n + WIDTH <= columns) {
        tile(out + n, stride, one, other + n, other_stride, length, rows, 1);
        n += WIDTH;
    }
    last_columns(out + n, stride, one, other + n, other_stride, length, columns - n, rows);
}

/* out[rows, columns] += one[rows, length] other[length, columns] */
INLINE void
add_product(float *out, Py_ssize_t stride, Factor one, const float *other,
            Py_ssize_t other_stride, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t length)
{
    Py_ssize_t m = 0;
    for (; m + TILE <= rows; m += TILE) {
        Factor part = {one.at + m * one.row, one.row, one.column};
        band(out + m * stride, stride, part, other, other_stride, columns, length, TILE);
    }
    for (; m < rows; m++) {
        Factor part = {one.at + m * one.row, one.row, one.column};
        band(out + m * stride, stride, part, other, other_stride, columns, length, 1);
    }
}

INLINE void
transpose(float *out, const float *in, Py_ssize_t rows, Py_ssize_t columns)
{
    for (Py_ssize_t r = 0; r < rows; r += WIDTH)
        for (Py_ssize_t c = 0; c < columns; c++)
            for (Py_ssize_t m = r; m < rows && m < r + WIDTH; m++)
                out[c * rows + m] = in[m * columns + c];
}

INLINE float
sum(const float *values, Py_ssize_t count)
{
    float total = 0;
    for (Py_ssize_t i = 0; i < count; i++)
        total += values[i];
    return total;
}

/* --------------------------------------------------------------- perceptrons */

/* `sizes` has one number more than there are layers. */
typedef struct {
    Py_ssize_t layers, sizes[MOST_LAYERS + 1], parameters, widest;
} Shape;

INLINE const float *
weights(const Shape *shape, const float *genome, Py_ssize_t layer)
{
    for (Py_ssize_t l = 0; l < layer; l++)
        genome += (shape->sizes[l] + 1) * shape->sizes[l + 1];
    return genome;
}

/* Numbers that the hidden layers of one network say about a batch. */
INLINE Py_ssize_t
hidden(const Shape *shape, Py_ssize_t batch)
{
    Py_ssize_t units = 0;
    for (Py_ssize_t l = 1; l < shape->layers; l++)
        units += shape->sizes[l];
    return units * batch;
}

/* `said` takes what the hidden layers say, one after the other; `out` the last layer's words. */
INLINE void
forward(const Shape *shape, const float *genome, const float *in, Py_ssize_t batch, float *said,
        float *out)
{
    for (Py_ssize_t l = 0; l < shape->layers; l++) {
        Py_ssize_t inner = shape->sizes[l], outer = shape->sizes[l + 1];
        int is_last = l == shape->layers - 1;
        float *answer = is_last ? out : said;
        const float *bias = genome + inner * outer;
        for (Py_ssize_t o = 0; o < outer; o++)
            for (Py_ssize_t b = 0; b < batch; b++)
                answer[o * batch + b] = bias[o];
        Factor weight = {genome, inner, 1};
        add_product(answer, batch, weight, in, batch, outer, batch, inner);
        if (!is_last) {
            for (Py_ssize_t i = 0; i < outer * batch; i++)
                answer[i] = answer[i] < 0 ? 0 : answer[i]; /* NaN stays, as in PyTorch */
            in = said;
            said += outer * batch;
        }
        genome = bias + outer;
    }
}

/* A part of what the first layer has read: `features` a row, as the caller has it. */
typedef struct {
    const float *rows;
    Py_ssize_t features;
} Part;

/* From the slope of a loss by the outputs to that by the parameters, which is added to `grad`, or,
 * without `grad`, to that by the inputs from `first` on, in `by_input`. `scratch` has room for two
 * slopes and a transposed layer. */
INLINE void
backward(const Shape *shape, const float *genome, const Part *parts, Py_ssize_t batch,
         const float *said, const float *slope, float *grad, float *by_input, Py_ssize_t first,
         float *scratch)
{
    float *turned = scratch + 2 * shape->widest * batch;
    said += hidden(shape, batch);
    for (Py_ssize_t l = shape->layers - 1; l >= 0; l--) {
        Py_ssize_t inner = shape->sizes[l], outer = shape->sizes[l + 1];
        const float *weight = weights(shape, genome, l);
        said -= l ? inner * batch : 0;
        if (grad != NULL) {
            float *by_weight = grad + (weight - genome), *by_bias = by_weight + inner * outer;
            Factor by_output = {slope, batch, 1};
            if (l) {
                transpose(turned, said, inner, batch);
                add_product(by_weight, inner, by_output, turned, inner, outer, inner, batch);
            } else {
                for (Py_ssize_t at = 0; at < inner; at += parts->features, parts++)
                    add_product(by_weight + at, inner, by_output, parts->rows, parts->features,
                                outer, parts->features, batch);
            }
            for (Py_ssize_t o = 0; o < outer; o++)
                by_bias[o] += sum(slope + o * batch, batch);
        }
        if (l) {
            float *next = scratch + (l % 2) * shape->widest * batch;
            Factor turned_weight = {weight, 1, inner};
            memset(next, 0, inner * batch * sizeof(float));
            add_product(next, batch, turned_weight, slope, batch, inner, batch, outer);
            for (Py_ssize_t i = 0; i < inner * batch; i++)
                next[i] = said[i] <= 0 ? 0 : next[i];
            slope = next;
        } else if (by_input != NULL) {
            Factor turned_weight = {weight + first, 1, inner};
            memset(by_input, 0, (inner - first) * batch * sizeof(float));
            add_product(by_input, batch, turned_weight, slope, batch, inner - first, batch, outer);
        }
    }
}

/* ---------------------------------------------------------------------- DDPG */

/* The matrices of one network of each agent. */
typedef struct {
    Shape shape;
    const float *values, *target;
    float *grad;
} Networks;

/* `noise` is added to the actions of the targets, or NULL. Where actors do not learn, only their losses
   are told. */
typedef struct {
    Py_ssize_t agents, critics, batch, observation, action;
    int actors_learn;
    float penalty;
    const float *observations, *actions, *rewards, *following, *discounts, *noise;
} Batch;

static Py_ssize_t
scratch_size(const Shape *actor, const Shape *critic, Py_ssize_t batch)
{
    Py_ssize_t widest = actor->widest > critic->widest ? actor->widest : critic->widest;
    Py_ssize_t inputs = critic->sizes[0];
    return 2 * inputs * batch                                   /* states and actions, two times */
           + hidden(actor, batch) + hidden(critic, batch)       /* what layers say */
           + (2 * (inputs - actor->sizes[0]) + 3) * batch /* value, slope, y, by_action, output */
           + 3 * widest * batch;
}

/* What the target actor does next, with the noise of TD3 where there is some: `[action, batch]`. */
INLINE void
act_next(const Batch *all, Py_ssize_t agent, float *chosen)
{
    Py_ssize_t batch = all->batch, moves = all->action;
    for (Py_ssize_t i = 0; i < moves * batch; i++)
        chosen[i] = tanhf(chosen[i]);
    if (all->noise == NULL)
        return;
    const float *noise = all->noise + agent * batch * moves;
    for (Py_ssize_t m = 0; m < moves; m++)
        for (Py_ssize_t b = 0; b < batch; b++) {
            float action = chosen[m * batch + b] + noise[b * moves + m];
            chosen[m * batch + b] = action < -1 ? -1 : action > 1 ? 1 : action;
        }
}

/* The gradients of one agent, added to those that are there; `losses` gets critic's and actor's. */
INLINE void
agent_gradients(const Batch *all, const Networks *actor, const Networks *critic, Py_ssize_t agent,
                float *scratch, float *critic_loss, float *actor_loss)
{
    Py_ssize_t batch = all->batch, states = all->observation, moves = all->action;
    const float *observations = all->observations + agent * batch * states;
    const float *following = all->following + agent * batch * states;
    const float *actions = all->actions + agent * batch * moves;
    const float *rewards = all->rewards + agent * batch;
    const float *discounts = all->discounts + agent * batch;
    const Shape *actors = &actor->shape, *critics = &critic->shape;
    Py_ssize_t actor_row = agent * actors->parameters;
    Py_ssize_t first = agent * all->critics * critics->parameters;
    Py_ssize_t behind = first + all->critics * critics->parameters;

    float *now = scratch, *next = now + critics->sizes[0] * batch;
    float *actor_said = next + critics->sizes[0] * batch;
    float *critic_said = actor_said + hidden(actors, batch);
    float *value = critic_said + hidden(critics, batch), *slope = value + batch;
    float *y = slope + batch;
    float *by_action = y + batch, *output = by_action + moves * batch;
    float *rest = output + moves * batch;

    /* y = r + gamma min Q'(s', mu'(s')) */
    float *chosen = next + states * batch;
    transpose(next, following, batch, states);
    forward(actors, actor->target + actor_row, next, batch, actor_said, chosen);
    act_next(all, agent, chosen);
    for (Py_ssize_t row = first; row < behind; row += critics->parameters) {
        forward(critics, critic->target + row, next, batch, critic_said, value);
        for (Py_ssize_t b = 0; b < batch; b++)
            y[b] = row == first || value[b] < y[b] ? value[b] : y[b];
    }
    for (Py_ssize_t b = 0; b < batch; b++)
        y[b] = rewards[b] + discounts[b] * y[b];

    /* L = mean (y - Q(s, a))^2 of each critic */
    chosen = now + states * batch;
    transpose(now, observations, batch, states);
    transpose(chosen, actions, batch, moves);
    Part read[2] = {{observations, states}, {actions, moves}};
    *critic_loss = 0;
    for (Py_ssize_t row = first; row < behind; row += critics->parameters) {
        forward(critics, critic->values + row, now, batch, critic_said, value);
        float squares = 0;
        for (Py_ssize_t b = 0; b < batch; b++) {
            float error = value[b] - y[b];
            squares += error * error;
            slope[b] = error * 2 / batch;
        }
        *critic_loss += squares / batch;
        backward(critics, critic->values + row, read, batch, critic_said, slope,
                 critic->grad + row, NULL, 0, rest);
    }

    /* J = -mean Q(s, mu(s)) + c mean z(s)^2, mu = tanh z, by the first critic */
    forward(actors, actor->values + actor_row, now, batch, actor_said, output);
    float squares = 0;
    for (Py_ssize_t i = 0; i < moves * batch; i++) {
        squares += output[i] * output[i];
        chosen[i] = tanhf(output[i]);
    }
    forward(critics, critic->values + first, now, batch, critic_said, value);
    float penalty = all->penalty / (moves * batch);
    *actor_loss = penalty * squares - sum(value, batch) / batch;
    if (!all->actors_learn)
        return;
    for (Py_ssize_t b = 0; b < batch; b++)
        slope[b] = -1.0f / batch;
    backward(critics, critic->values + first, NULL, batch, critic_said, slope, NULL,
             by_action, states, rest);
    for (Py_ssize_t i = 0; i < moves * batch; i++)
        by_action[i] = by_action[i] * (1 - chosen[i] * chosen[i]) + 2 * penalty * output[i];
    backward(actors, actor->values + actor_row, read, batch, actor_said, by_action,
             actor->grad + actor_row, NULL, 0, rest);
}

INLINE void
gradients_of_all(const Batch *all, const Networks *actor, const Networks *critic,
                    float *scratch, float *losses)
{
    for (Py_ssize_t agent = 0; agent < all->agents; agent++)
        agent_gradients(all, actor, critic, agent, scratch, losses + agent,
                        losses + all->agents + agent);
}

TWICE(gradients_of_all,
      (const Batch *all, const Networks *actor, const Networks *critic, float *scratch,
       float *losses),
      (all, actor, critic, scratch, losses))

/* Adam (Kingma & Ba 2015, algorithm 1), then theta' <- tau theta + (1 - tau) theta'. */
INLINE void
step_of_adam(float *values, float *target, float *grad, float *mean, float *square,
                  Py_ssize_t count, float size, float correction, float scale, float tau)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        float slope = grad[i] * scale;
        mean[i] += (slope - mean[i]) * 0.1f;
        square[i] = square[i] * 0.999f + slope * slope * 0.001f;
        values[i] -= size * mean[i] / (sqrtf(square[i]) * correction + 1e-8f);
        target[i] += tau * (values[i] - target[i]);
        grad[i] = 0;
    }
}

TWICE(step_of_adam,
      (float *values, float *target, float *grad, float *mean, float *square, Py_ssize_t count,
       float size, float correction, float scale, float tau),
      (values, target, grad, mean, square, count, size, correction, scale, tau))

/* One network's answer to one observation; `said` has room for two layers. */
INLINE void
answer_of_one(const Shape *shape, const float *genome, const float *in, float *said, float *out)
{
    for (Py_ssize_t l = 0; l < shape->layers; l++) {
        Py_ssize_t inner = shape->sizes[l], outer = shape->sizes[l + 1];
        int is_last = l == shape->layers - 1;
        const float *bias = genome + inner * outer;
        float *answer = is_last ? out : said + (l % 2) * shape->widest;
        for (Py_ssize_t o = 0; o < outer; o++) {
            const float *weight = genome + o * inner;
            eight sums = {0};
            Py_ssize_t i = 0;
            for (; i + WIDTH <= inner; i += WIDTH)
                sums += *(const eight *)(weight + i) * *(const eight *)(in + i);
            float total = bias[o];
            for (int v = 0; v < WIDTH; v++)
                total += sums[v];
            for (; i < inner; i++)
                total += weight[i] * in[i];
            answer[o] = is_last ? tanhf(total) : total < 0 ? 0 : total;
        }
        in = answer;
        genome = bias + outer;
    }
}

TWICE(answer_of_one,
      (const Shape *shape, const float *genome, const float *in, float *said, float *out),
      (shape, genome, in, said, out))

/* -------------------------------------------------------------------- Python */

static int
read_shape(PyObject *sizes, Shape *shape)
{
    Py_ssize_t count = PyTuple_Check(sizes) ? PyTuple_GET_SIZE(sizes) : 0;
    if (count < 2 || count > MOST_LAYERS + 1) {
        PyErr_Format(PyExc_ValueError, "sizes are a tuple of 2 to %d", MOST_LAYERS + 1);
        return 0;
    }
    *shape = (Shape){.layers = count - 1};
    for (Py_ssize_t l = 0; l < count; l++) {
        Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, l));
        if (size < 1 || size > 1 << 20) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a layer has 1 to 1,048,576 units");
            return 0;
        }
        shape->sizes[l] = size;
        shape->widest = size > shape->widest ? size : shape->widest;
        if (l)
            shape->parameters += (shape->sizes[l - 1] + 1) * size;
    }
    return 1;
}

/* Whether each buffer has so many numbers as is asked of it. */
static int
fits(const Py_buffer *buffers, const Py_ssize_t *numbers, int count)
{
    for (int i = 0; i < count; i++)
        if (buffers[i].len != numbers[i] * (Py_ssize_t)sizeof(float)) {
            PyErr_Format(PyExc_ValueError, "buffer %d has %zd bytes, %zd numbers were expected",
                         i, buffers[i].len, numbers[i]);
            return 0;
        }
    return 1;
}

static void
release(Py_buffer *buffers, int count)
{
    for (int i = 0; i < count; i++)
        PyBuffer_Release(&buffers[i]);
}

PyDoc_STRVAR(gradients_doc,
"gradients(agents, critics, actors_learn, penalty, actor_sizes, critic_sizes, observation, action,\n"
"          reward, next_observation, discount, noise, actor_values, actor_target, actor_grad,\n"
"          critic_values, critic_target, critic_grad, scratch, losses)\n\n"
"Add the slopes of every agent's losses to its gradients; the losses are critics', then actors'.\n"
"`noise` is empty, or what is added to the next action of each transition.");

static PyObject *
gradients(PyObject *module, PyObject *args)
{
    enum { OBSERVATION, ACTION, REWARD, NEXT, DISCOUNT, NOISE, ACTOR, ACTOR_TARGET, ACTOR_GRAD, CRITIC,
           CRITIC_TARGET, CRITIC_GRAD, SCRATCH, LOSSES, COUNT };
    Py_buffer b[COUNT];
    PyObject *actor_sizes, *critic_sizes;
    Batch all = {0};
    Networks actor = {0}, critic = {0};
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "nnpfOOy*y*y*y*y*y*y*y*w*y*y*w*w*w*", &all.agents, &all.critics,
                          &all.actors_learn, &all.penalty, &actor_sizes, &critic_sizes, &b[0],
                          &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7], &b[8], &b[9], &b[10],
                          &b[11], &b[12], &b[13]))
        return NULL;
    if (!read_shape(actor_sizes, &actor.shape) || !read_shape(critic_sizes, &critic.shape))
        goto done;
    all.observation = actor.shape.sizes[0];
    all.action = actor.shape.sizes[actor.shape.layers];
    if (all.agents < 1 || all.agents > b[REWARD].len / (Py_ssize_t)sizeof(float)) {
        PyErr_SetString(PyExc_ValueError, "each agent has a transition, or more");
        goto done;
    }
    if (all.critics < 1 || all.critics > MOST_CRITICS) {
        PyErr_Format(PyExc_ValueError, "an agent has 1 to %d critics", MOST_CRITICS);
        goto done;
    }
    if (critic.shape.sizes[0] != all.observation + all.action ||
        critic.shape.sizes[critic.shape.layers] != 1) {
        PyErr_SetString(PyExc_ValueError, "a critic reads what its actor reads and says");
        goto done;
    }
    all.batch = b[REWARD].len / (Py_ssize_t)sizeof(float) / all.agents;
    Py_ssize_t samples = all.agents * all.batch;
    Py_ssize_t of_actors = all.agents * actor.shape.parameters;
    Py_ssize_t of_critics = all.agents * all.critics * critic.shape.parameters;
    Py_ssize_t numbers[COUNT] = {
        samples * all.observation, samples * all.action, samples, samples * all.observation,
        samples, b[NOISE].len ? samples * all.action : 0, of_actors, of_actors, of_actors, of_critics, of_critics, of_critics,
        scratch_size(&actor.shape, &critic.shape, all.batch), 2 * all.agents,
    };
    if (!fits(b, numbers, COUNT))
        goto done;
    all.observations = b[OBSERVATION].buf;
    all.actions = b[ACTION].buf;
    all.rewards = b[REWARD].buf;
    all.following = b[NEXT].buf;
    all.discounts = b[DISCOUNT].buf;
    all.noise = b[NOISE].len ? b[NOISE].buf : NULL;
    actor.values = b[ACTOR].buf;
    actor.target = b[ACTOR_TARGET].buf;
    actor.grad = b[ACTOR_GRAD].buf;
    critic.values = b[CRITIC].buf;
    critic.target = b[CRITIC_TARGET].buf;
    critic.grad = b[CRITIC_GRAD].buf;
    Py_BEGIN_ALLOW_THREADS
    CALL(gradients_of_all, &all, &actor, &critic, b[SCRATCH].buf, b[LOSSES].buf);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release(b, COUNT);
    return result;
}

PyDoc_STRVAR(descend_doc,
"descend(values, target, grad, exp_avg, exp_avg_sq, step, lr, scale, tau)\n\n"
"One step of Adam on `scale` times the gradients, which are cleared; the targets follow.");

static PyObject *
descend(PyObject *module, PyObject *args)
{
    Py_buffer b[5];
    double step, lr, scale, tau;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "w*w*w*w*w*dddd", &b[0], &b[1], &b[2], &b[3], &b[4], &step, &lr,
                          &scale, &tau))
        return NULL;
    Py_ssize_t count = b[0].len / (Py_ssize_t)sizeof(float);
    Py_ssize_t numbers[5] = {count, count, count, count, count};
    if (fits(b, numbers, 5)) {
        float size = (float)(lr / (1 - pow(0.9, step)));
        float correction = (float)(1 / sqrt(1 - pow(0.999, step)));
        Py_BEGIN_ALLOW_THREADS
        CALL(step_of_adam, b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].buf, count, size,
             correction, (float)scale, (float)tau);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    release(b, 5);
    return result;
}

PyDoc_STRVAR(answer_doc,
"answer(sizes, values, observation, scratch, action)\n\nOne actor's action for one observation.");

static PyObject *
answer(PyObject *module, PyObject *args)
{
    Py_buffer b[4];
    PyObject *sizes, *result = NULL;
    Shape shape;
    if (!PyArg_ParseTuple(args, "Oy*y*w*w*", &sizes, &b[0], &b[1], &b[2], &b[3]))
        return NULL;
    if (read_shape(sizes, &shape)) {
        Py_ssize_t numbers[4] = {shape.parameters, shape.sizes[0], 2 * shape.widest,
                                 shape.sizes[shape.layers]};
        if (fits(b, numbers, 4)) {
            CALL(answer_of_one, &shape, b[0].buf, b[1].buf, b[2].buf, b[3].buf);
            result = Py_NewRef(Py_None);
        }
    }
    release(b, 4);
    return result;
}

PyDoc_STRVAR(scratch_doc,
"scratch(actor_sizes, critic_sizes, batch)\n\nHow many numbers `gradients` works in.");

static PyObject *
scratch(PyObject *module, PyObject *args)
{
    PyObject *actor_sizes, *critic_sizes;
    Py_ssize_t batch;
    Shape actor, critic;
    if (!PyArg_ParseTuple(args, "OOn", &actor_sizes, &critic_sizes, &batch) ||
        !read_shape(actor_sizes, &actor) || !read_shape(critic_sizes, &critic))
        return NULL;
    return PyLong_FromSsize_t(scratch_size(&actor, &critic, batch));
}

PyDoc_STRVAR(use_wide_doc,
"use_wide(wanted)\n\nTake the code for new processors, or that for all; whether the first is taken.");

static PyObject *
use_wide(PyObject *module, PyObject *wanted)
{
    int on = PyObject_IsTrue(wanted);
    if (on < 0)
        return NULL;
    is_wide = on && HAS_WIDE;
    return PyBool_FromLong(is_wide);
}

static PyMethodDef methods[] = {
    {"gradients", gradients, METH_VARARGS, gradients_doc},
    {"descend", descend, METH_VARARGS, descend_doc},
    {"answer", answer, METH_VARARGS, answer_doc},
    {"scratch", scratch, METH_VARARGS, scratch_doc},
    {"use_wide", use_wide, METH_O, use_wide_doc},
    {NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "_fused", "DDPG on small perceptrons.", 0, methods,
};

PyMODINIT_FUNC
PyInit__fused(void)
{
    PyObject *module = PyModule_Create(&module_def);
    if (module == NULL || PyModule_AddIntConstant(module, "VERSION", VERSION) < 0 ||
        PyModule_AddIntConstant(module, "MOST_LAYERS", MOST_LAYERS) < 0 ||
        PyModule_AddIntConstant(module, "MOST_CRITICS", MOST_CRITICS) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    is_wide = HAS_WIDE;
    return module;
}

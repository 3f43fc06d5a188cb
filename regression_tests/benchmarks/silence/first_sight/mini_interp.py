"""A tiny Lisp: tokenizer, reader, evaluator. Replays a batch of generated user programs."""
import operator
import random
import sys
import weakref
from functools import reduce

MODE = sys.argv[1]
SESSIONS = 70
PROGRAMS = 12


class Env(dict):
    """A scope; `children` lets the debugger list the live scopes."""

    def __init__(self, params=(), args=(), outer=None):
        super().__init__(zip(params, args))
        self.outer = outer
        self.children = [] if MODE == "leak" else weakref.WeakSet()
        if outer is not None:
            outer.add_child(self)

    def add_child(self, child):
        if MODE == "leak":
            self.children.append(child)
        else:
            self.children.add(child)

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def find(self, name):
        env = self
        while env is not None:
            if name in env:
                return env
            env = env.outer
        raise NameError(name)


class Lambda:
    def __init__(self, params, body, env):
        self.params, self.body, self.env = params, body, env

    def __call__(self, *args):
        return evaluate(self.body, Env(self.params, args, self.env))


def tokenize(src):
    return src.replace("(", " ( ").replace(")", " ) ").split()


def read(tokens):
    tok = tokens.pop(0)
    if tok == "(":
        out = []
        while tokens[0] != ")":
            out.append(read(tokens))
        tokens.pop(0)
        return out
    try:
        return int(tok)
    except ValueError:
        return sys.intern(tok)


def evaluate(x, env):
    if isinstance(x, str):
        return env.find(x)[x]
    if not isinstance(x, list):
        return x
    op = x[0]
    if op == "if":
        return evaluate(x[2] if evaluate(x[1], env) else x[3], env)
    if op == "define":
        env[x[1]] = evaluate(x[2], env)
        return env[x[1]]
    if op == "lambda":
        return Lambda(x[1], x[2], env)
    if op == "while":
        while evaluate(x[1], env):
            evaluate(x[2], env)
        return 0
    if op == "begin":
        return [evaluate(e, env) for e in x[1:]][-1]
    fn, *args = [evaluate(e, env) for e in x]
    return fn(*args)


def builtins():
    env = Env()
    env.update({"+": lambda *a: sum(a), "*": lambda *a: reduce(operator.mul, a, 1), "-": operator.sub,
                "<": operator.lt, "=": operator.eq, "mod": operator.mod, "list": lambda *a: list(a)})
    return env


def user_program(rng):
    n, k = rng.randrange(6, 10), rng.randrange(2, 9)
    return (f"(begin (define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))"
            f" (define scale (lambda (x) (* x {k})))"
            f" (define i 0) (while (< i {140 * n}) (define i (+ i (mod {k} 2) 1)))"
            f" (list (fib {n}) (scale {n}) (mod (fib 7) {k})))")


class Interpreter:
    def __init__(self):
        self.globals = builtins()
        self.history = []

    def run(self, src):
        scope = Env(outer=self.globals)
        result = evaluate(read(tokenize(src)), scope)
        self.history.append(result)
        del self.history[:-50]
        return result

    def session(self, number):
        rng = random.Random(number)
        return sum(self.run(user_program(rng))[0] for _ in range(PROGRAMS))


interp = Interpreter()
for number in range(SESSIONS):
    total = interp.session(number)
    if number % 14 == 0:
        print(f"session {number}: checksum {total}")
print("last result", interp.history[-1])
